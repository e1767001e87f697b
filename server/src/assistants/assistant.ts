/** The model of an assistant, and of the assistant that belongs to a graph. Pure. */
import { RawJson } from "@superstep/toolkit/http/json"
import { v5 } from "uuid"

// The namespace of LangGraph's own servers, so that the assistant of a graph has the same id everywhere
// (agent-server-api §2.3: graph `agent` is fe096781-5601-53d2-b2f6-0d3403f7e9ca).
const graphNamespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8"

/** The id of the assistant that every graph has from the start. The encoder also accepts half a surrogate pair. */
export const systemAssistantId = (graphId: string): string => v5(new TextEncoder().encode(graphId), graphNamespace)

/** What a run takes from its assistant. */
export interface Assistant {
  readonly assistantId: string
  readonly graphId: string
  readonly config: Config
  readonly context: unknown
  readonly metadata: Readonly<Record<string, unknown>>
  /** Changes with each change of its row; absent while it has none. */
  readonly stamp?: string | undefined
}

/** A RunnableConfig as clients write it; other keys are passed on. */
export interface Config {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly tags?: readonly string[] | undefined
  readonly recursion_limit?: number | undefined
}

/** A project's settings for a graph's own assistant. */
export interface GraphDefaults {
  readonly description?: string | undefined
  readonly config?: Config
  readonly context?: unknown
}

/** The unchanged assistant of a graph. */
export const systemAssistant = (graphId: string): Assistant => ({
  assistantId: systemAssistantId(graphId),
  graphId,
  config: {},
  context: {},
  metadata: { created_by: "system" },
})

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Resolves an assistant's id: a client may also name an assistant by its graph (agent-server-api §2.3).
 * @param graphIds  the loaded graphs: the id of one may look like a UUID
 */
export function assistantIdOf(name: string, graphIds: readonly string[]): string {
  return uuid.test(name) && !graphIds.includes(name) ? name.toLowerCase() : systemAssistantId(name)
}

/** A row of `assistants`; JSON texts are unchanged. */
export interface AssistantRow extends AssistantVersionRow {
  readonly updated_at: Date
}

/** A row of `assistant_versions`. */
export interface AssistantVersionRow {
  readonly assistant_id: string
  readonly version: number
  readonly graph_id: string
  readonly name: string
  readonly description: string | null
  readonly config: string
  readonly context: string
  readonly metadata: string
  readonly created_at: Date
}

/** The fields of an Assistant resource, which a search may select. */
export const assistantFields = [
  "assistant_id",
  "graph_id",
  "name",
  "description",
  "config",
  "context",
  "metadata",
  "version",
  "created_at",
  "updated_at",
] as const
export type AssistantField = (typeof assistantFields)[number]

/**
 * An Assistant resource, or one of its versions.
 * @param fields  the fields to include; all by default
 */
export function renderAssistant(
  row: AssistantVersionRow & Partial<AssistantRow>,
  fields: readonly AssistantField[] = assistantFields,
): Record<string, unknown> {
  const { config, context, metadata, ...plain } = row
  const whole: Record<string, unknown> = {
    ...plain,
    config: new RawJson(config),
    context: new RawJson(context),
    metadata: new RawJson(metadata),
  }
  return Object.fromEntries(fields.map((field) => [field, whole[field]]))
}
