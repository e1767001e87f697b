/** A row of a waterfall: some time in which something happened. Types only. */
import type { Tokens } from "./model-calls.js"
import type { TraceSpan } from "./run-data.js"

export type RowKind = "wait" | "attempt" | "step" | TraceSpan["kind"]
export type RowState = "done" | "running" | "error" | "interrupted" | "lost" | "waiting"

export interface Row {
  readonly key: string
  readonly kind: RowKind
  readonly label: string
  /** Milliseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly state: RowState
  /** How deep it is indented. */
  readonly depth: number
  /** False: the node's own times are not known, and the row spans its super-step. */
  readonly isExact: boolean
  /** What to say beside the bar. */
  readonly note: string | undefined
  readonly error: string | undefined
  /** From where the run can be run again: the checkpoint before this super-step. */
  readonly checkpointId: string | undefined
  readonly tokens: Tokens | undefined
  /** For a row of the trace. */
  readonly span?: TraceSpan
}
