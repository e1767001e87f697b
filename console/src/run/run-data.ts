/** What the run page reads: of the official API, and of Superstep's extensions `attempts`, `events` and `trace`. Types only. */

export interface RunInfo {
  readonly run_id: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly status: "pending" | "running" | "success" | "error" | "timeout" | "interrupted"
  readonly created_at: string
  readonly updated_at: string
  readonly attempt?: number
  readonly error?: { readonly error: string; readonly message: string; readonly doc_url?: string } | null
  readonly cancel_reason?: string | null
  readonly created_by?: { readonly name: string; readonly email: string } | null
  readonly metadata?: Readonly<Record<string, unknown>> | null
  readonly kwargs?: Readonly<Record<string, unknown>> | null
}

export interface AttemptInfo {
  readonly attempt: number
  readonly claimed_at: string | null
  readonly ended_at: string | null
  readonly ending: string | null
}

export interface Attempts {
  readonly created_at: string
  readonly due_at: string
  /** The server's clock at the reply. */
  readonly now: string
  readonly attempts: readonly AttemptInfo[]
}

export interface TimedEvent {
  readonly id: string
  readonly event: string
  readonly data: unknown
  readonly created_at: string
}

/** One piece of work of a run's trace (docs/observability.md). */
export interface TraceSpan {
  readonly id: string
  readonly parent_id: string | null
  readonly attempt: number
  readonly kind: "graph" | "node" | "model" | "tool" | "retriever" | "chain"
  readonly name: string
  readonly namespace: string
  readonly status: "running" | "success" | "interrupted" | "cancelled" | "error"
  readonly started_at: string
  readonly ended_at: string | null
  readonly first_token_at: string | null
  readonly error: { readonly error: string; readonly message: string } | null
  readonly model: string | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly is_cut: boolean
  readonly left_out: number
  /** Absent: not read, or not kept. */
  readonly input?: unknown
  readonly output?: unknown
}

/** A task of a state: one node that executes after this checkpoint. */
export interface StateTask {
  readonly id: string
  readonly name: string
  readonly error?: unknown
  readonly interrupts?: readonly unknown[] | null
  readonly result?: unknown
}

/** A state of the thread's history. */
export interface StateInfo {
  readonly values: unknown
  readonly next: readonly string[]
  readonly checkpoint: { readonly checkpoint_id?: string | null } | null
  readonly parent_checkpoint?: { readonly checkpoint_id?: string | null } | null
  readonly metadata:
    | { readonly step?: number; readonly source?: string; readonly run_id?: string; readonly run_attempt?: number }
    | null
    | undefined
  readonly created_at: string | null | undefined
  readonly tasks: readonly StateTask[]
}
