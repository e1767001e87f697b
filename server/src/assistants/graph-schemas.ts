/** The schemas of a graph as clients see them (agent-server-api §4.8, §4.9). Pure. */

/** Each a JSON Schema; null: unknown. */
export interface GraphSchemas {
  readonly input_schema: unknown
  readonly output_schema: unknown
  readonly state_schema: unknown
  readonly config_schema: unknown
  readonly context_schema: unknown
}

/** The schemas from a source, by namespace; the graph itself has the empty namespace. */
export type SourceSchemas = Readonly<Record<string, GraphSchemas>>

/** Whether the graph provides its schemas at runtime; if not, its source may contain them (protocol-v2 §3.7). */
export const hasStateSchema = ({ state_schema }: GraphSchemas): boolean => state_schema !== null

/** The graph's own schemas, completed by those from its source. */
export const completed = (reported: GraphSchemas, read: GraphSchemas | undefined): GraphSchemas => ({
  input_schema: reported.input_schema ?? read?.input_schema ?? null,
  output_schema: reported.output_schema ?? read?.output_schema ?? null,
  state_schema: reported.state_schema ?? read?.state_schema ?? null,
  config_schema: reported.config_schema ?? read?.config_schema ?? null,
  context_schema: reported.context_schema ?? read?.context_schema ?? null,
})

/**
 * A subgraph: the Platform and JavaScript's dev server name its schemas differently, and `RemoteGraph` asks for
 * `graph_id` (protocol-v2 §2.6).
 */
export const renderSubgraph = (graphId: string, schemas: GraphSchemas) => ({
  graph_id: graphId,
  ...schemas,
  state: schemas.state_schema,
  input: schemas.input_schema,
  output: schemas.output_schema,
  config: schemas.config_schema,
})
