/**
 * The interface between the server and the processes that execute graphs. The server passes on a claimed run, gets its
 * events as bytes that it never parses, and is notified exactly once how the run ended: by `onDone`, or by `onLost` when the
 * worker died or the claim was lost.
 */

import type { RunFrame, Span } from "@superstep/protocol/worker/frames"
import type { LanguageSlots } from "./language-slots.js"
import type { Language } from "./languages.js"
import type { RoomLimit } from "./worker-room.js"

/** A line after a frame's header: its name in the header and its text or bytes. */
export interface PayloadLine {
  readonly name: string
  readonly data: string | Buffer
}

/** A claimed run, ready to execute: the header and payload lines of the protocol's `run` frame. */
export interface RunOrder {
  readonly runId: string
  readonly claimId: string
  readonly threadId: string
  readonly attempt: number
  readonly graphId: string
  readonly streamModes: readonly string[]
  readonly streamSubgraphs: boolean
  /** Whether the run also sends events of the newer streaming protocol. */
  readonly protocolEvents?: boolean
  readonly durability: "sync" | "async" | "exit"
  readonly interruptBefore: "*" | readonly string[] | undefined
  readonly interruptAfter: "*" | readonly string[] | undefined
  /** What the worker records of the run; absent: nothing. */
  readonly trace?: RunFrame["trace"] | undefined
  /** False when the thread cannot have a checkpoint yet, so that the worker need not ask for it. */
  readonly hasCheckpoint: boolean
  /** What earlier attempts have saved of the command, so that it must not take effect again. */
  readonly commandSaved?: NonNullable<RunFrame["command_saved"]>
  /** Whether the run gets its own process, because an earlier one died (P12). */
  readonly runsAlone: boolean
  /** JSON texts; an empty text is absent. */
  readonly input: string
  readonly command: string
  readonly config: string
  readonly context: string
}

export interface RunFailure {
  /** Name of the error's class, such as `GraphRecursionError`. */
  readonly error: string
  readonly message: string
  /** Where the error is explained; absent for errors of the graph. */
  readonly doc_url?: string
}

export interface RunResult {
  readonly status: "success" | "interrupted" | "error" | "cancelled"
  readonly error: RunFailure | undefined
  /** Where the error was thrown: for the log, never for clients. */
  readonly stack?: string | undefined
  /** Nodes that would run next. */
  readonly next: readonly string[]
  /** JSON text of the root state; undefined when the worker does not know it. */
  readonly values: string | undefined
  /** JSON text `{task_id: Interrupt[]}`. */
  readonly interrupts: string
}

/**
 * Why a run ended here without being done. `worker_died`: its process died, and had no other work. `worker_blocked`: the same,
 * and it was killed because its event loop was blocked. `shared_worker_died`: the
 * process died and had other work too, so the cause is unknown. `claim_lost`: the run goes on elsewhere. `no_worker`,
 * `stopped`: nothing is wrong with the run; no process was running, or all were stopping; then its events and writes are
 * complete up to the end of a super-step, as far as they came.
 */
export type LostReason =
  | "worker_died"
  | "worker_blocked"
  | "shared_worker_died"
  | "claim_lost"
  | "no_worker"
  | "stopped"

/** A part of a run's trace: spans that began or ended since the last part. */
export interface TracePart {
  readonly spans: readonly Span[]
  /** For each span a line of JSON, empty when the worker records times only. They are valid only during the call. */
  readonly contents: readonly Buffer[]
}

/** Callbacks come in the order of events; none is called after `onDone` or `onLost`. */
export interface RunListener {
  /**
   * @param data  one line of JSON, valid only during the call unless it is copied
   * @returns a promise to wait for before the worker sends more events of this run; usually undefined
   */
  onEvent(event: string, data: Buffer): Promise<void> | undefined
  onSpans(part: TracePart): void
  onDone(result: RunResult): void
  /** Called when the run ended on this worker without being over, for example because the worker died. */
  onLost(reason: LostReason, detail: string): void
}

export interface GraphFailure {
  readonly graphId: string
  /** Name and message of the error. Callers get it when they ask for the graph. */
  readonly message: string
  /** The place in the source and the lines around it, if known. For the log and the project's owner, not for callers. */
  readonly codeFrame?: string | undefined
}

/** The message with the lines of the source, for the log and the project's owner. */
export const withSource = ({ message, codeFrame }: GraphFailure): string =>
  codeFrame === undefined ? message : `${message}\n\n${codeFrame}`

export interface LoadReport {
  readonly graphs: readonly string[]
  /** The language of each of the graphs. */
  readonly languages?: ReadonlyMap<string, Language>
  readonly failed: readonly GraphFailure[]
  /** The project's versions of LangGraph by language, as far as its workers reported them. */
  readonly langgraph?: Readonly<Partial<Record<"javascript" | "python", string>>>
}

/** A worker's answer to a call: the header's fields and its payload lines by position. */
export interface Reply {
  readonly fields: Readonly<Record<string, unknown>>
  readonly payload: readonly Buffer[]
}

export interface Workers {
  /** Starts the processes and waits until the first of each language has reported what it loaded. */
  start(): Promise<LoadReport>
  /** What the serving workers have loaded; both lists are empty before `start` is done. */
  report(): LoadReport
  /** How many worker processes have died so far without a request to stop. */
  readonly deaths: number
  /** How many more runs may execute now in shared workers, whatever their graphs. */
  freeSlots(): number
  /** The same for each language of the graphs: one element if all are in one language, none while no graph is served. */
  slotsByLanguage(): readonly LanguageSlots[]
  /** How many worker processes take no more runs now, by reason. */
  fullWorkers(): Readonly<Record<RoomLimit, number>>
  /** How many more runs may execute now in their own process. */
  freeSoloSlots(): number
  /** Sets the callback for free slots: a run ended, or a worker started or restarted. One subscriber, the claim loop. */
  onFree(callback: () => void): void
  /**
   * Gives a run to the least busy serving worker, or to one that is started for it. Never throws: the listener is notified
   * how the run ended.
   */
  execute(order: RunOrder, listener: RunListener): void
  /** Asks a claim's worker to stop its run; ends in `onDone` with status `cancelled`, unless it was over already. */
  cancel(claimId: string): void
  /**
   * Gives up a run that does not stop when asked: its listener is not called again, and its slot is free. Its worker goes on,
   * unless it does not answer pings either (P13).
   */
  giveUp(claimId: string): void
  /**
   * Calls a method of any worker, for example `graph.state`.
   * @param lines  payload lines after those of `payload`
   * @throws Unavailable  when no worker is running, or the called one died or took too long
   * @throws Conflict     when the project has no such graph, it did not load, or its code failed (`WorkerCallFailed`)
   */
  call(
    method: string,
    fields: Readonly<Record<string, unknown>>,
    payload: Readonly<Record<string, string>>,
    lines?: readonly PayloadLine[],
  ): Promise<Reply>
  /**
   * Waits `graceMs` for runs in flight, then asks them to stop after their super-step and waits for as long again, at most
   * 10 s, then ends the processes. Listeners of unfinished runs get `onLost`. Without grace time it does not wait.
   */
  stop(graceMs: number): Promise<void>
}
