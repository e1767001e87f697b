/**
 * The conversation with one worker after its hello: load, runs, calls both ways, pings. It ends with the connection,
 * and then every run and every call that was in flight is told so, once (P1).
 */
import type { EventFrame, LoadedFrame, Loopback, WorkerCall, WorkerFrame } from "@superstep/protocol/worker/frames"
import { assertNever, KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { type CallHandlers, failureOf, handlerOf } from "./calls.js"
import type { Connection } from "./connection.js"
import { ClaimLost } from "./fence.js"
import { PendingCalls } from "./pending-calls.js"
import type { Reply, RunListener, RunOrder } from "./port.js"
import { RunsInFlight } from "./runs-in-flight.js"
import { type Report, type Room, type RoomLimits, roomOf } from "./worker-room.js"

export interface SessionOptions {
  readonly connection: Connection
  readonly handlers: CallHandlers
  readonly backlog: () => Promise<void> | undefined
  readonly log: Log
  /** How long the worker may take to answer a call, in milliseconds. */
  readonly callMs: number
  readonly room: RoomLimits
  onLoaded(frame: LoadedFrame): void
  onRunLeft(): void
  onPong(nonce: string): void
  /** It takes new runs again. */
  onRoom(): void
}

/** What a worker is told to load. */
export interface Loadable {
  readonly folder: string
  readonly graphs: Readonly<Record<string, string>>
  readonly auth?: string | undefined
  readonly app?: string | undefined
}

export class Session {
  readonly runs: RunsInFlight
  readonly #calls: PendingCalls
  readonly #options: SessionOptions
  readonly #connection: Connection
  /** What the worker reported last of the runs that it executes, and how many it was given since. */
  #report: Report | undefined
  #startedSince = 0
  #endedSince = 0

  constructor(options: SessionOptions) {
    this.#options = options
    this.#connection = options.connection
    this.#calls = new PendingCalls(options.callMs)
    this.runs = new RunsInFlight(() => {
      this.#endedSince += 1
      if (this.runs.size === 0) this.#noteLoad(undefined)
      options.onRunLeft()
    })
  }

  /** @param loopback  how user code reaches this server */
  load({ folder, graphs, auth, app }: Loadable, loopback: Loopback | undefined): void {
    this.#connection.send({ type: "load", project: folder, graphs, auth, app, loopback })
  }

  execute(order: RunOrder, listener: RunListener): void {
    this.runs.add(order, listener)
    this.#startedSince += 1
    this.#connection.send(
      {
        type: "run",
        run_id: order.runId,
        claim_id: order.claimId,
        thread_id: order.threadId,
        attempt: order.attempt,
        graph_id: order.graphId,
        stream_modes: order.streamModes,
        stream_subgraphs: order.streamSubgraphs,
        durability: order.durability,
        interrupt_before: order.interruptBefore,
        interrupt_after: order.interruptAfter,
        has_checkpoint: order.hasCheckpoint,
      },
      [
        { name: "input", data: order.input },
        { name: "command", data: order.command },
        { name: "config", data: order.config },
        { name: "context", data: order.context },
      ],
    )
  }

  cancel(claimId: string): void {
    const runId = this.runs.runOf(claimId)
    if (runId !== undefined) this.#connection.send({ type: "cancel", run_id: runId, claim_id: claimId })
  }

  /** @throws Unavailable  when the worker dies first or is too slow; WorkerCallFailed when the graph's code fails */
  call(method: string, fields: Readonly<Record<string, unknown>>, payload: Readonly<Record<string, string>>) {
    const { callId, answer } = this.#calls.open()
    const lines = Object.entries(payload).map(([name, data]) => ({ name, data }))
    this.#connection.send({ ...fields, type: "call", call_id: callId, method }, lines)
    return answer
  }

  /** Whether user code executes in the worker, as far as anybody knows: a run, one that was given up, or a question. */
  get isBusy(): boolean {
    return this.runs.isBusy || this.#calls.size > 0
  }

  /** How many more runs it takes. */
  get room(): Room {
    const load = { running: this.runs.size, startedSince: this.#startedSince, report: this.#report }
    return roomOf(load, this.#options.room)
  }

  /** False while nothing is read from the worker, so that it cannot answer. */
  get isHeard(): boolean {
    return !this.#connection.isPaused
  }

  ping(nonce: string): void {
    this.#connection.send({ type: "ping", nonce })
  }

  /** Asks every run to stop after its super-step; each is then told to be lost as `stopped`. */
  drain(): void {
    this.#connection.send({ type: "drain" })
  }

  stop(): void {
    this.#connection.send({ type: "stop" })
  }

  onFrame(frame: WorkerFrame, payload: Buffer[]): void {
    switch (frame.type) {
      case "event":
        this.#onEvent(frame, payload[0] ?? Buffer.alloc(0))
        break
      case "done":
        this.runs.done(frame, payload)
        break
      case "call":
        void this.#answer(frame, payload)
        this.#pauseUntil(this.#options.backlog())
        break
      case "reply":
        this.#calls.reply(frame.call_id, { fields: { ...frame }, payload } satisfies Reply)
        break
      case "failure":
        this.#calls.fail(frame.call_id, frame.error)
        break
      case "loaded":
        this.#options.onLoaded(frame)
        break
      case "pong":
        this.#options.onPong(frame.nonce)
        break
      case "load_report":
        this.#onLoadReport({ busy: frame.busy, memoryMb: frame.memory_mb, ended: this.#endedSince })
        break
      case "hello":
        this.#connection.close("the worker said hello twice")
        break
      default:
        assertNever(frame)
    }
  }

  /**
   * The connection is gone. A run is to blame for its worker's death only when it was alone in it: a question to a graph
   * executes the user's code as well.
   * @param detail  what happened to the worker, such as `exit code 1`
   */
  end(isStopped: boolean, detail: string): void {
    const isAlone = this.runs.isOneAlone && this.#calls.size === 0
    this.runs.loseAll(isStopped ? "stopped" : isAlone ? "worker_died" : "shared_worker_died", detail)
    this.#calls.failAll(detail)
  }

  /** Of one run alone: the others of this worker share its socket, and go on. */
  #onEvent({ run_id, claim_id, event }: EventFrame, data: Buffer): void {
    const until = this.runs.event(claim_id, event, data)
    if (until === undefined || !this.runs.setPaused(claim_id, true)) return
    this.#connection.send({ type: "pause_events", run_id, claim_id })
    const resume = () => {
      if (this.runs.setPaused(claim_id, false)) this.#connection.send({ type: "resume_events", run_id, claim_id })
    }
    until.then(resume, resume)
  }

  #onLoadReport(report: Report): void {
    // It was sent before its last run ended.
    if (this.runs.size === 0) return
    const wasFull = this.room.free === 0
    this.#noteLoad(report)
    if (wasFull && this.room.free > 0) this.#options.onRoom()
  }

  #noteLoad(report: Report | undefined): void {
    this.#report = report
    this.#startedSince = 0
    this.#endedSince = 0
  }

  #pauseUntil(settled: Promise<void> | undefined): void {
    if (settled) this.#connection.pauseUntil(settled)
  }

  async #answer(call: WorkerCall, payload: Buffer[]): Promise<void> {
    const { call_id } = call
    try {
      const reply = await handlerOf(this.#options.handlers, call.method)({ ...call }, payload)
      this.#connection.send({ ...reply.fields, type: "reply", call_id }, reply.payload)
    } catch (error) {
      if (!(error instanceof KnownError)) {
        this.#options.log.error({ err: error, method: call.method }, "a worker's call failed")
      }
      this.#connection.send({ type: "failure", call_id, error: failureOf(error) })
      if (error instanceof ClaimLost && "claim_id" in call && call.claim_id) {
        this.runs.loseClaim(call.claim_id, error.message)
      }
    }
  }
}
