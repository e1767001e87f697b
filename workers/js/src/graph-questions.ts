/** The server's questions about a graph itself, for whoever wants to show it: its drawing, its schemas, its subgraphs. */
import type { GraphDrawCall, GraphSchemasCall, GraphSubgraphsCall } from "@superstep/protocol/worker/frames"
import { type GraphSchemas, runtimeSchemas } from "./graph-schemas.js"
import type { CompiledGraph, RunnableConfig } from "./langgraph.js"
import type { Library } from "./library.js"
import type { LoadedGraph } from "./loader.js"

/** @returns  `{nodes, edges}` as LangGraph's drawable graph says it (protocol-v2 §3.7) */
export async function drawGraph(loaded: LoadedGraph, call: GraphDrawCall, payload: readonly Buffer[]): Promise<object> {
  const { graph, config } = await shownGraph(loaded, payload)
  const drawable = await graph.getGraphAsync({ ...config, xray: call.xray })
  return drawable.toJSON()
}

/** @returns  what the graph tells of its schemas while it runs */
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
  // All of them, since LangGraph's own search by namespace takes `ab` for a part of `a`.
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
