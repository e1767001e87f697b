/** The drawing of an assistant's graph, its schemas and the graphs inside it, computed by a worker. */
import { NotFound } from "@superstep/toolkit/errors/errors"
import { parseJson, RawJson } from "@superstep/toolkit/http/json"
import type { Caller } from "../auth/caller.js"
import type { Workers } from "../workers/port.js"
import type { AssistantRow } from "./assistant.js"
import { completed, type GraphSchemas, hasStateSchema, renderSubgraph } from "./graph-schemas.js"
import { type Assistants, getAssistant } from "./operations.js"
import type { SourceReader } from "./source-analysis.js"

export interface AssistantGraphs extends Assistants {
  readonly workers: Pick<Workers, "report" | "call">
  readonly sources: SourceReader
}

/**
 * The nodes and edges of the graph.
 * @param xray  whether subgraphs are drawn too, or how many levels of them
 * @returns     the worker's JSON, passed on unparsed
 * @throws NotFound  no such assistant, or the server does not have its graph
 */
export async function drawGraph(
  parts: AssistantGraphs,
  caller: Caller,
  name: string,
  xray: boolean | number,
): Promise<RawJson> {
  return new RawJson(await ask(parts, await getAssistant(parts, caller, name), "graph.draw", { xray }))
}

/**
 * The graph's schemas; null for each that neither the graph nor its source provides. `is_incomplete` says that its source could not be read
 * this time, so a null may be a schema that is not yet known.
 * @throws NotFound  like `drawGraph`
 */
export async function getSchemas(parts: AssistantGraphs, caller: Caller, name: string) {
  const assistant = await getAssistant(parts, caller, name)
  const reported = parseJson(await ask(parts, assistant, "graph.schemas", {})) as GraphSchemas
  const read = hasStateSchema(reported) ? {} : await parts.sources.schemasOf(assistant.graph_id)
  return {
    graph_id: assistant.graph_id,
    ...completed(reported, read?.[""]),
    ...(read === undefined && { is_incomplete: true }),
  }
}

export interface SubgraphQuery {
  /** Only this one, such as `outer|inner`; with `recurse` also those in it. */
  readonly namespace: string | undefined
  /** Also the graphs inside subgraphs. */
  readonly recurse: boolean
}

/** The schemas of the graphs inside the graph, by namespace. @throws NotFound  as `drawGraph` */
export async function getSubgraphs(parts: AssistantGraphs, caller: Caller, name: string, query: SubgraphQuery) {
  const assistant = await getAssistant(parts, caller, name)
  const fields = { recurse: query.recurse, ...(query.namespace !== undefined && { namespace: query.namespace }) }
  const reported = parseJson(await ask(parts, assistant, "graph.subgraphs", fields)) as Record<string, GraphSchemas>
  const reportsAll = Object.values(reported).every(hasStateSchema)
  const read = reportsAll ? {} : await parts.sources.schemasOf(assistant.graph_id)
  return Object.fromEntries(
    Object.entries(reported).map(([namespace, schemas]) => [
      namespace,
      renderSubgraph(assistant.graph_id, hasStateSchema(schemas) ? schemas : completed(schemas, read?.[namespace])),
    ]),
  )
}

/** Calls a worker that has the graph. @returns JSON text */
async function ask({ workers }: AssistantGraphs, { graph_id, config }: AssistantRow, method: string, fields: object) {
  const { graphs, failed } = workers.report()
  const isKnown = graphs.includes(graph_id) || failed.some(({ graphId }) => graphId === graph_id)
  if (!isKnown) throw new NotFound(`Graph "${graph_id}" not found: this server has ${graphs.join(", ") || "none"}`)
  const { payload } = await workers.call(method, { graph_id, ...fields }, { config })
  if (!payload[0]) throw new Error(`the worker's reply to ${method} is empty`)
  return payload[0].toString("utf8")
}
