/** A thread as clients see it. Pure. */
import { parseJson, RawJson, rawJson } from "@superstep/toolkit/http/json"

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

/** The data from which the config of a thread's graph is made, also while the thread is being created. */
export interface ConfiguredThread
  extends Pick<ThreadRow, "thread_id" | "metadata" | "graph_id" | "assistant_id" | "config"> {
  /** The last run that has started on the thread: JSON text of `{configurable, caller}`. Null when none has. */
  readonly last_run: string | null
}

/** A thread whose state is read. */
export interface ReadThread extends ConfiguredThread {
  /** The ids of its runs that wait or execute, in their order. */
  readonly in_flight: readonly string[]
}

/** What happens to a thread when it expires. */
export type TtlStrategy = "delete" | "keep_latest"

/** A thread's time to live, as clients see it. */
export interface ThreadTtl {
  readonly strategy: TtlStrategy
  readonly ttl_minutes: number
  readonly expires_at: Date
}

/** The metadata with the graph and assistant that ran last, as LangGraph's servers show it (recording `interrupt-thread.txt`). */
export function metadataOf({
  metadata,
  graph_id,
  assistant_id,
}: Pick<ThreadRow, "metadata" | "graph_id" | "assistant_id">): Record<string, unknown> {
  return { ...parseJson(metadata), ...(graph_id !== null && { graph_id, assistant_id }) }
}

/** The graph whose state a thread has: the graph that ran last, else the one in its metadata. */
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

/** @param select  the requested fields; `values.x` requests one value, which an empty state does not have */
export const emptyStateOf = (select: readonly string[] | undefined): object =>
  select === undefined
    ? emptyState
    : pick(
        emptyState,
        select.map((field) => field.replace(/^values\..*/, "values")),
      )
