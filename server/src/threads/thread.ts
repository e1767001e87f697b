/** A thread as clients see it. Pure. */
import { RawJson, rawJson } from "@superstep/toolkit/http/json"

export const threadStatuses = ["idle", "busy", "interrupted", "error"] as const
export type ThreadStatus = (typeof threadStatuses)[number]

/** A row of `threads`. */
export interface ThreadRow {
  readonly thread_id: string
  readonly status: ThreadStatus
  readonly graph_id: string | null
  readonly assistant_id: string | null
  /** JSON texts. */
  readonly metadata: string
  readonly config: string
  readonly values: string | null
  readonly interrupts: string
  readonly error: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly state_updated_at: Date
}

/** What happens to a thread when its time is over. */
export type TtlStrategy = "delete" | "keep_latest"

/** When that is, as clients see it. */
export interface ThreadTtl {
  readonly strategy: TtlStrategy
  readonly ttl_minutes: number
  readonly expires_at: Date
}

/** The metadata with what ran last in it, as LangGraph's servers show it (recording `interrupt-thread.txt`). */
export function metadataOf({
  metadata,
  graph_id,
  assistant_id,
}: Pick<ThreadRow, "metadata" | "graph_id" | "assistant_id">): Record<string, unknown> {
  return { ...JSON.parse(metadata), ...(graph_id !== null && { graph_id, assistant_id }) }
}

/** The graph whose state a thread has: what ran last, else what it was made for. */
export function graphIdOf(row: Pick<ThreadRow, "metadata" | "graph_id" | "assistant_id">): string | undefined {
  const { graph_id: graphId } = metadataOf(row)
  return typeof graphId === "string" && graphId !== "" ? graphId : undefined
}

/** The Thread resource; `values` is null until a run has ended. */
export const renderThread = (row: ThreadRow) => ({
  thread_id: row.thread_id,
  created_at: row.created_at,
  updated_at: row.updated_at,
  state_updated_at: row.state_updated_at,
  metadata: metadataOf(row),
  config: new RawJson(row.config),
  status: row.status,
  values: rawJson(row.values),
  interrupts: new RawJson(row.interrupts),
  error: rawJson(row.error),
})

/** Only some fields of an object. */
export const pick = (value: object, fields: readonly string[]): object =>
  Object.fromEntries(Object.entries(value).filter(([field]) => fields.includes(field)))

/** The state of a thread on which nothing ran yet (agent-server-api §2.6). */
const emptyState = {
  values: {},
  next: [],
  tasks: [],
  metadata: {},
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
}

/** @param select  the fields that were asked for; `values.x` asks for one value, of which there is none */
export const emptyStateOf = (select: readonly string[] | undefined): object =>
  select === undefined
    ? emptyState
    : pick(
        emptyState,
        select.map((field) => field.replace(/^values\..*/, "values")),
      )
