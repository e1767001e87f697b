/** What a run is: its statuses, stream modes and strategies, and what follows from how it ended. Pure. */
import type { LostReason, RunFailure, RunResult } from "../workers/port.js"

export const runStatuses = ["pending", "running", "success", "error", "timeout", "interrupted"] as const
export type RunStatus = (typeof runStatuses)[number]

/** Statuses that no run leaves again. */
export const isFinal = (status: RunStatus): boolean => status !== "pending" && status !== "running"

/** Stream modes as clients name them (agent-server-api §6.1). */
export const streamModes = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "events",
  "tasks",
  "checkpoints",
  "debug",
  "custom",
  "tools",
] as const

export const multitaskStrategies = ["reject", "enqueue", "interrupt", "rollback"] as const
export type MultitaskStrategy = (typeof multitaskStrategies)[number]

export type CancelAction = "interrupt" | "rollback"

/** A lost worker is no fault of the input until it happens this often (R5). */
export const maxLosses = 3

/**
 * How an attempt ended whose run is not over; `release_run` says what follows. `worker_died`: with this run alone in it.
 * `shared_worker_died`: with others (R9). `lease_ended`, `server_restarted`: its server is gone.
 */
export type AttemptEnding = "handed_back" | "worker_died" | "shared_worker_died" | "lease_ended" | "server_restarted"

export const endingOf = (reason: LostReason): AttemptEnding =>
  reason === "worker_died" || reason === "shared_worker_died" ? reason : "handed_back"

/** How a run ended: as its worker says, or by its time (R10). */
export type RunEnd = Omit<RunResult, "status"> & { readonly status: RunResult["status"] | "timeout" }

/** What the graph's outcome makes of the run and of its thread (agent-server-api §19). */
export interface Outcome {
  readonly runStatus: "success" | "error" | "interrupted" | "timeout"
  readonly threadStatus: "idle" | "interrupted" | "error"
}

export function outcomeOf(result: Pick<RunEnd, "status" | "next" | "interrupts">): Outcome {
  switch (result.status) {
    case "success":
      return { runStatus: "success", threadStatus: "idle" }
    case "interrupted":
      return { runStatus: "interrupted", threadStatus: "interrupted" }
    // An answer was refused, or was wrong: the question can be answered again.
    case "error":
      return { runStatus: "error", threadStatus: result.interrupts === "{}" ? "error" : "interrupted" }
    case "timeout":
      return { runStatus: "timeout", threadStatus: "error" }
    case "cancelled":
      return { runStatus: "interrupted", threadStatus: result.interrupts === "{}" ? "idle" : "interrupted" }
  }
}

/**
 * What `wait` answers: the state, and what the run waits for when it stopped at an interrupt (decisions, agent server 6).
 * @param values      JSON text of the state; undefined when there is none
 * @param interrupts  JSON text: interrupts by task
 * @returns JSON text; an object, since SDKs look for `__error__` in it
 */
export function resultText(values: string | undefined, interrupts: string, isInterrupted: boolean): string {
  if (!isInterrupted) return values === undefined || values === "null" ? "{}" : values
  const open = JSON.stringify(Object.values(JSON.parse(interrupts) as Record<string, unknown[]>).flat())
  const state = values?.trim() ?? "{}"
  if (!state.startsWith("{")) return `{"__interrupt__":${open}}`
  const fields = state.slice(1, -1).trim()
  return `{${fields}${fields === "" ? "" : ","}"__interrupt__":${open}}`
}

/**
 * What a thread's stream says of its state after a run: `{thread_id, run_id, state: {values, next, interrupts}}`.
 * @returns JSON text; undefined when the run's worker did not know the state
 */
export function stateText(
  { threadId, runId }: { readonly threadId: string; readonly runId: string },
  { values, next, interrupts }: Pick<RunEnd, "values" | "next" | "interrupts">,
): string | undefined {
  if (values === undefined) return undefined
  const open = Object.values(JSON.parse(interrupts) as Record<string, unknown[]>).flat()
  const state = `{"values":${values},"next":${JSON.stringify(next)},"interrupts":${JSON.stringify(open)}}`
  return `{"thread_id":"${threadId}","run_id":"${runId}","state":${state}}`
}

/** A claim: the right to execute one attempt of a run, named by every write that follows from it. */
export interface Claim {
  readonly runId: string
  readonly claimId: string
  readonly threadId: string
  readonly graphId: string
  readonly attempt: number
  /** JSON text of the run's kwargs. */
  readonly kwargs: string
  /** JSON text: what the graph is told of who asked for it; null when nobody is known. */
  readonly caller: string | null
  readonly hasCheckpoint: boolean
  /** The thread was made for this run and goes with it. */
  readonly deletesThread: boolean
  readonly isResumable: boolean
  /** It was in a worker that died, so it gets one of its own (R9). */
  readonly runsAlone: boolean
  /** Servers that have clients of this run. */
  readonly watchedBy: readonly string[]
  /** For how much longer its thread is followed, in milliseconds, as the database knew with the claim. */
  readonly followedMs?: number | null
  /** How long it was in the queue after its time had come, in milliseconds; absent when it never was. */
  readonly waitedMs?: number
}

/** How a run ends that was lost too often: typed, so that an operator can tell it from a graph's own error. */
export const workerLost = (detail: string): RunFailure => ({
  error: "WorkerLost",
  message: `the process that executed the run died ${maxLosses} times with nothing else in it, last with ${detail}`,
})

/**
 * What the end of its time makes of a run: one that stopped because of it, or that does not stop, is `timeout`; one that
 * ended by itself in that moment stays what it is.
 */
export function timedOut(result: RunResult | undefined, timeoutMs: number): RunEnd {
  if (result !== undefined && result.status !== "cancelled") return result
  const message = `the run took longer than ${timeoutMs / 1000} s, the limit of one attempt (BG_JOB_TIMEOUT_SECS)`
  const error = { error: "RunTimeout", message }
  return { next: [], values: undefined, interrupts: "{}", ...result, status: "timeout", error }
}
