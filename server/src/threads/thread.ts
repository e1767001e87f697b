/** A thread as clients see it. Pure. */
import { RawJson, rawJson } from "@superstep/toolkit/http/json"

/** A row of `threads`. */
export interface ThreadRow {
  readonly thread_id: string
  readonly status: "idle" | "busy" | "interrupted" | "error"
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

/** The metadata with what ran last in it, as LangGraph's servers show it (recording `interrupt-thread.txt`). */
export function metadataOf({ metadata, graph_id, assistant_id }: ThreadRow): Record<string, unknown> {
  return { ...JSON.parse(metadata), ...(graph_id !== null && { graph_id, assistant_id }) }
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

/** The state of a thread on which nothing ran yet (agent-server-api §2.6). */
export const emptyState = {
  values: {},
  next: [],
  tasks: [],
  metadata: {},
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
}
