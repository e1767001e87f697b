/**
 * The processes that execute graphs, as the rest of the server sees them. The server hands a claimed run over, gets
 * its events as bytes it never parses, and is told exactly once how the run ended: `onDone`, or `onLost` when the
 * worker died or gave the claim up.
 */

import type { RoomLimit } from "./worker-room.js"

/** A claimed run, ready to execute: the header and payload lines of the protocol's `run` frame. */
export interface RunOrder {
  readonly runId: string
  readonly claimId: string
  readonly threadId: string
  readonly attempt: number
  readonly graphId: string
  readonly streamModes: readonly string[]
  readonly streamSubgraphs: boolean
  readonly durability: "sync" | "async" | "exit"
  readonly interruptBefore: "*" | readonly string[] | undefined
  readonly interruptAfter: "*" | readonly string[] | undefined
  /** False when the thread cannot have a checkpoint yet, which saves the worker a question. */
  readonly hasCheckpoint: boolean
  /** It gets a process of its own, since it was in one that died (P12). */
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
 * Why a run ended here without being done. `worker_died`: its process did, and nothing else was in it. A
 * `shared_worker_died` with others in it, so nobody can tell whose doing it was. `claim_lost`: it goes on elsewhere.
 * `no_worker`, `stopped`: nothing is wrong with the run; no process was up, or all were told to stop; then its events
 * and writes may have come up to the end of a super-step.
 */
export type LostReason = "worker_died" | "shared_worker_died" | "claim_lost" | "no_worker" | "stopped"

/** Called in the order in which things happened; none is called after `onDone` or `onLost`. */
export interface RunListener {
  /**
   * @param data  one line of JSON, valid only during the call unless it is copied
   * @returns what to wait for before the worker sends more events of this run: nothing, as a rule
   */
  onEvent(event: string, data: Buffer): Promise<void> | undefined
  onDone(result: RunResult): void
  /** The worker died, or its claim was lost: the run is not over, it only ended here. */
  onLost(reason: LostReason, detail: string): void
}

export interface GraphFailure {
  readonly graphId: string
  /** What a person reads: name, message and, where known, the lines around the fault. */
  readonly message: string
}

export interface LoadReport {
  readonly graphs: readonly string[]
  readonly failed: readonly GraphFailure[]
  /** The project's versions of LangGraph by language, as far as its workers told. */
  readonly langgraph?: Readonly<Partial<Record<"javascript" | "python", string>>>
}

/** A worker's answer to a call: the header's fields and its payload lines by position. */
export interface Reply {
  readonly fields: Readonly<Record<string, unknown>>
  readonly payload: readonly Buffer[]
}

export interface Workers {
  /** Starts the processes and waits until each has told what it could load. */
  start(): Promise<LoadReport>
  /** What the serving workers have loaded; both lists are empty before `start` is done. */
  report(): LoadReport
  /** How many worker processes have died without having been told to, so far. */
  readonly deaths: number
  /** How many more runs may execute now, of those that share a worker with others. */
  freeSlots(): number
  /** How many worker processes take no more runs now, by what stops them. */
  fullWorkers(): Readonly<Record<RoomLimit, number>>
  /** How many more runs may execute now in a process of their own. */
  freeSoloSlots(): number
  /** Called whenever slots became free: a run ended, a worker came (back) up. One subscriber, the claimer. */
  onFree(callback: () => void): void
  /**
   * Hands a run to the least busy worker that serves, or to one that is started for it. Never throws: how it ends is
   * told to the listener.
   */
  execute(order: RunOrder, listener: RunListener): void
  /** Asks a claim's worker to stop its run; ends in `onDone` with status `cancelled`, unless it was over already. */
  cancel(claimId: string): void
  /**
   * For a run that was asked to stop and does not: its listener is told nothing more and its slot is free. Its worker
   * goes on, unless it answers no pings either (P13).
   */
  giveUp(claimId: string): void
  /**
   * Asks any worker, for example `graph.state`.
   * @throws Unavailable  when no worker is up, or the one asked died or took too long
   * @throws Conflict     when the project has no such graph, it did not load, or its code failed (`WorkerCallFailed`)
   */
  call(
    method: string,
    fields: Readonly<Record<string, unknown>>,
    payload: Readonly<Record<string, string>>,
  ): Promise<Reply>
  /**
   * Waits `graceMs` for runs in flight, then asks them to stop after their super-step and waits for as long again, at most
   * 10 s, then ends the processes. Listeners of runs that were not done get `onLost`. Without grace time nothing is waited for.
   */
  stop(graceMs: number): Promise<void>
}
