/** The model of a run: its statuses, stream modes and strategies, and the outcomes of its end. Pure. */
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { Config } from "../assistants/assistant.js"
import { runFailure } from "../workers/error-codes.js"
import type { LostReason, RunFailure, RunResult } from "../workers/port.js"

export const runStatuses = ["pending", "running", "success", "error", "timeout", "interrupted"] as const
export type RunStatus = (typeof runStatuses)[number]

/** Whether a status never changes again. */
export const isFinal = (status: RunStatus): boolean => status !== "pending" && status !== "running"

/** Whether the run failed: by its graph, its time limit or its workers. A stopped or interrupted run did not fail. */
export const isFailure = (status: string): boolean => status === "error" || status === "timeout"

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

/** After this many lost workers the run itself counts as the cause (R5). */
export const maxLosses = 3

/**
 * How an attempt ended whose run is not over; `requeue_run` decides what follows. `worker_died`: the worker executed only
 * this run. `worker_blocked`: the same, and its event loop was blocked. `shared_worker_died`: it executed other runs too (R9). `lease_ended`, `server_restarted`: the server is gone. `abandoned`: the
 * server does not execute the run that it has claimed.
 */
export const attemptEndings = [
  "handed_back",
  "worker_died",
  "worker_blocked",
  "shared_worker_died",
  "lease_ended",
  "server_restarted",
  "abandoned",
] as const
export type AttemptEnding = (typeof attemptEndings)[number]

export const endingOf = (reason: LostReason): AttemptEnding =>
  reason === "worker_died" || reason === "worker_blocked" || reason === "shared_worker_died" ? reason : "handed_back"

/** How a run ended: as its worker reported, or by its time limit (R10). */
export type RunEnd = Omit<RunResult, "status"> & { readonly status: RunResult["status"] | "timeout" }

/** The statuses of the run and its thread that follow from the graph's outcome (agent-server-api §19). */
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
    // An answer was rejected or caused an error: the open interrupt can be answered again.
    case "error":
      return { runStatus: "error", threadStatus: result.interrupts === "{}" ? "error" : "interrupted" }
    case "timeout":
      return { runStatus: "timeout", threadStatus: "error" }
    case "cancelled":
      return { runStatus: "interrupted", threadStatus: result.interrupts === "{}" ? "idle" : "interrupted" }
  }
}

/**
 * The response of `wait`: the state, and the open interrupts if the run stopped at one (decisions, agent server 6).
 * @param values      JSON text of the state; undefined when there is none
 * @param interrupts  JSON text: interrupts by task
 * @returns JSON text of an object, since SDKs look for `__error__` in it
 */
export function resultText(values: string | undefined, interrupts: string, isInterrupted: boolean): string {
  if (!isInterrupted) return values === undefined || values === "null" ? "{}" : values
  const open = toJsonText(Object.values(parseJson(interrupts) as Record<string, unknown[]>).flat())
  const state = values?.trim() ?? "{}"
  if (!state.startsWith("{")) return `{"__interrupt__":${open}}`
  const fields = state.slice(1, -1).trim()
  return `{${fields}${fields === "" ? "" : ","}"__interrupt__":${open}}`
}

/**
 * The event of a thread's stream with the state after a run: `{thread_id, run_id, state: {values, next, interrupts}}`.
 * @returns JSON text; undefined when the run's worker did not know the state
 */
export function stateText(
  { threadId, runId }: { readonly threadId: string; readonly runId: string },
  { values, next, interrupts }: Pick<RunEnd, "values" | "next" | "interrupts">,
): string | undefined {
  if (values === undefined) return undefined
  const open = Object.values(parseJson(interrupts) as Record<string, unknown[]>).flat()
  const state = `{"values":${values},"next":${toJsonText(next)},"interrupts":${toJsonText(open)}}`
  return `{"thread_id":"${threadId}","run_id":"${runId}","state":${state}}`
}

/** The request for a run, merged with its assistant and thread: the `kwargs` of the Run resource. */
export interface Kwargs {
  readonly input?: unknown
  readonly command?: unknown
  readonly config: Config & Readonly<Record<string, unknown>>
  readonly context: unknown
  readonly stream_mode: readonly string[]
  readonly interrupt_before?: "*" | readonly string[]
  readonly interrupt_after?: "*" | readonly string[]
  readonly webhook?: string
  readonly feedback_keys?: readonly string[]
  readonly strict_resume?: true
  readonly durability: "sync" | "async" | "exit"
  /** The request's `traceparent`, so that the server that claims the run continues its trace. */
  readonly traceparent?: string | undefined
  readonly temporary: boolean
  readonly subgraphs: boolean
  readonly resumable: boolean
}

/** A claim: the right to execute one attempt of a run. Every write of the attempt names it. */
export interface Claim {
  readonly runId: string
  readonly claimId: string
  readonly threadId: string
  readonly graphId: string
  readonly attempt: number
  readonly kwargs: Kwargs
  /** JSON text: what the graph gets about the caller; null for an unknown caller. */
  readonly caller: string | null
  readonly hasCheckpoint: boolean
  /** What earlier attempts have saved of the run's command: its own writes, or also that a task got an answer. */
  readonly commandSaved?: "writes" | "answer" | null
  /** The checkpoint that it starts from was removed while it waited. */
  readonly hasLostCheckpoint?: boolean
  /** The thread was created for this run and is deleted with it. */
  readonly deletesThread: boolean
  readonly isResumable: boolean
  /** The run needs a worker of its own (R9). */
  readonly runsAlone: boolean
  /** A webhook is called at the run's end. */
  readonly hasWebhook: boolean
  /** Servers that have clients of this run. */
  readonly watchedBy: readonly string[]
  /** For how much longer its thread is followed, in milliseconds, as of the claim. */
  readonly followedMs?: number | null
  /** The same for clients of the newer streaming protocol. */
  readonly protocolMs?: number | null
  /** How long it waited in the queue after it was due, in milliseconds; absent when it never waited. */
  readonly waitedMs?: number
}

/**
 * The error of a run that was lost too often. Its own type distinguishes it from an error of the graph.
 * @param ending  of its last attempt
 */
export const workerLost = (detail: string, ending?: AttemptEnding): RunFailure =>
  runFailure("WorkerLost", ending === "worker_blocked" ? blockedText(detail) : diedText(detail))

const diedText = (detail: string): string =>
  `the process that executed the run died ${maxLosses} times with nothing else in it, last with ${detail}`

const blockedText = (detail: string): string =>
  `the run blocked its process again, which executed nothing else (${detail}): give way to the event loop while a node ` +
  "computes, use a thread, or raise SUPERSTEP_WORKER_STALLED_SECONDS"

/** The end of a run that cannot start where it should: from the thread's beginning it would do something else. */
export function checkpointGone({ kwargs }: Pick<Claim, "kwargs">): RunEnd {
  const id = String(kwargs.config.configurable?.checkpoint_id)
  const message =
    `the checkpoint ${id} that the run starts from was removed with its run while this one waited: ` +
    "send it again, from another checkpoint"
  return {
    status: "error",
    error: runFailure("CheckpointGone", message),
    next: [],
    values: undefined,
    interrupts: "{}",
  }
}

/**
 * The end of a run whose time limit has passed: `timeout` if it stopped because of the limit or did not stop. A run that
 * ended by itself at that moment keeps its result.
 */
export function timedOut(result: RunResult | undefined, timeoutMs: number): RunEnd {
  if (result !== undefined && result.status !== "cancelled") return result
  const message = `the run took longer than ${timeoutMs / 1000} s, the limit of one attempt (BG_JOB_TIMEOUT_SECS)`
  const error = runFailure("RunTimeout", message)
  return { next: [], values: undefined, interrupts: "{}", ...result, status: "timeout", error }
}
