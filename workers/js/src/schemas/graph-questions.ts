/** The server's calls about a graph itself, for user interfaces: its drawing, its schemas, its subgraphs. */
import type { GraphDrawCall, GraphSchemasCall, GraphSubgraphsCall } from "@superstep/protocol/worker/frames"
import type { CompiledGraph, RunnableConfig } from "../loading/langgraph.js"
import type { Library } from "../loading/library.js"
import type { LoadedGraph } from "../loading/loader.js"
import { type GraphSchemas, runtimeSchemas } from "./graph-schemas.js"

/** @returns  `{nodes, edges}` in the form of LangGraph's drawable graph (protocol-v2 §3.7) */
export async function drawGraph(loaded: LoadedGraph, call: GraphDrawCall, payload: readonly Buffer[]): Promise<object> {
  const { graph, config } = await shownGraph(loaded, payload)
  const drawable = await graph.getGraphAsync({ ...config, xray: call.xray })
  return drawable.toJSON()
}

/** @returns  the schemas that the graph provides at runtime */
export async function graphSchemas(
  loaded: LoadedGraph,
  _call: GraphSchemasCall,
  payload: readonly Buffer[],
): Promise<GraphSchemas> {
  const { graph, library } = await shownGraph(loaded, payload)
  return runtimeSchemas(graph, library)
}

/** @returns  the schemas of subgraphs by their namespace */
export async function graphSubgraphs(
  loaded: LoadedGraph,
  { namespace, recurse }: GraphSubgraphsCall,
  payload: readonly Buffer[],
): Promise<Record<string, GraphSchemas>> {
  const { graph, library } = await shownGraph(loaded, payload)
  const found: Record<string, GraphSchemas> = {}
  // Reads all of them, since LangGraph's own search by namespace treats `ab` as a part of `a`.
  for await (const [name, subgraph] of graph.getSubgraphsAsync(undefined, true)) {
    if (isAsked(name, namespace, recurse)) found[name] = await runtimeSchemas(subgraph, library)
  }
  return found
}

function isAsked(name: string, namespace: string | undefined, recurse: boolean): boolean {
  if (namespace === undefined) return recurse || !name.includes("|")
  return name === namespace || (recurse && name.startsWith(`${namespace}|`))
}

async function shownGraph(
  loaded: LoadedGraph,
  [line]: readonly Buffer[],
): Promise<{ graph: CompiledGraph; library: Library; config: RunnableConfig }> {
  const config: RunnableConfig = line === undefined || line.length === 0 ? {} : JSON.parse(line.toString("utf8"))
  const { graph, library } = await loaded.use(config, { accessContext: "assistants.read", executionRuntime: null })
  return { graph, library, config }
}
