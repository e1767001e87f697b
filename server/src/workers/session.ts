/**
 * The session with one worker after its hello: load, runs, calls in both directions, pings. It ends with the connection, and
 * with it every run and call in flight, once (P1).
 */
import type { EventFrame, LoadedFrame, Loopback, WorkerCall, WorkerFrame } from "@superstep/protocol/worker/frames"
import { assertNever, KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import { answerCall, type CallHandlers, failureOf } from "./calls.js"
import type { Connection } from "./connection.js"
import { ClaimLost } from "./fence.js"
import type { Language } from "./languages.js"
import { PendingCalls } from "./pending-calls.js"
import type { PayloadLine, Reply, RunListener, RunOrder } from "./port.js"
import { RunsInFlight } from "./runs-in-flight.js"
import { WorkerLoad } from "./worker-load.js"
import type { Room, RoomLimits } from "./worker-room.js"

export interface SessionOptions {
  readonly connection: Connection
  readonly handlers: CallHandlers
  /** The language of the worker. */
  readonly language: Language
  readonly backlog: () => Promise<void> | undefined
  readonly log: Log
  /** How long the worker may take to answer a call, in milliseconds. */
  readonly callMs: number
  readonly room: RoomLimits
  /** How long the worker must compute without a pause to be overloaded, in milliseconds. */
  readonly overloadMs: number
  onLoaded(frame: LoadedFrame): void
  onRunLeft(): void
  onPong(nonce: string): void
  /** Called when the worker takes new runs again. */
  onRoom(): void
  /** Called when the worker is overloaded (`worker-load.ts`), repeatedly while that lasts. */
  onOverload(): void
}

/** What a worker must load. */
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
  readonly #load: WorkerLoad

  constructor(options: SessionOptions) {
    this.#options = options
    this.#connection = options.connection
    this.#calls = new PendingCalls(options.callMs)
    this.runs = new RunsInFlight(() => {
      this.#load.runEnded()
      options.onRunLeft()
    })
    this.#load = new WorkerLoad({
      limits: options.room,
      overloadMs: options.overloadMs,
      running: () => this.runs.size,
      isHeard: () => this.isHeard,
      onRoom: options.onRoom,
      onOverload: options.onOverload,
    })
  }

  /** @param loopback  how user code reaches this server */
  load({ folder, graphs, auth, app }: Loadable, loopback: Loopback | undefined): void {
    this.#connection.send({ type: "load", project: folder, graphs, auth, app, loopback })
  }

  execute(order: RunOrder, listener: RunListener): void {
    this.runs.add(order, listener)
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
        protocol_events: order.protocolEvents,
        durability: order.durability,
        interrupt_before: order.interruptBefore,
        interrupt_after: order.interruptAfter,
        trace: order.trace,
        has_checkpoint: order.hasCheckpoint,
        command_saved: order.commandSaved,
      },
      [
        { name: "input", data: order.input },
        { name: "command", data: order.command },
        { name: "config", data: order.config },
        { name: "context", data: order.context },
      ],
    )
    this.#load.runStarted()
  }

  cancel(claimId: string): void {
    const runId = this.runs.runOf(claimId)
    if (runId !== undefined) this.#connection.send({ type: "cancel", run_id: runId, claim_id: claimId })
  }

  /** @throws Unavailable  when the worker dies before it answers, or is too slow; WorkerCallFailed when the graph's code fails */
  call(
    method: string,
    fields: Readonly<Record<string, unknown>>,
    payload: Readonly<Record<string, string>>,
    lines: readonly PayloadLine[] = [],
  ) {
    const { callId, answer } = this.#calls.open()
    const named = Object.entries(payload).map(([name, data]) => ({ name, data }))
    this.#connection.send({ ...fields, type: "call", call_id: callId, method }, [...named, ...lines])
    return answer
  }

  /** Whether user code may execute in the worker: a run, a run that was given up, or a call. */
  get isBusy(): boolean {
    return this.runs.isBusy || this.#calls.size > 0
  }

  /** How many more runs the worker takes. */
  get room(): Room {
    return this.#load.room
  }

  /** Whether another worker is needed. */
  get isOverloaded(): boolean {
    return this.#load.isOverloaded
  }

  /** False while this process does not read from the worker, so that no answer can arrive. */
  get isHeard(): boolean {
    return !this.#connection.isPaused
  }

  ping(nonce: string): void {
    this.#connection.send({ type: "ping", nonce })
  }

  /** Asks every run to stop after its super-step; each is then reported as lost with `stopped`. */
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
      case "spans":
        this.runs.spans(frame.claim_id, { spans: frame.spans, contents: payload })
        break
      case "done":
        this.runs.done(frame, payload)
        break
      case "call": {
        void this.#answer(frame, payload)
        const settled = this.#options.backlog()
        if (settled) this.#connection.pauseUntil(settled)
        break
      }
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
        this.#load.reported({ busy: frame.busy, memoryMb: frame.memory_mb })
        break
      case "hello":
        this.#connection.close("the worker said hello twice")
        break
      default:
        assertNever(frame)
    }
  }

  /**
   * Called when the connection is closed. A run counts as the cause of its worker's death only if the worker had no other work;
   * a call to a graph executes user code too.
   * @param detail  what happened to the worker, such as `exit code 1`
   */
  end({ isStopped, isBlocked }: { isStopped: boolean; isBlocked: boolean }, detail: string): void {
    const isAlone = this.runs.isOneAlone && this.#calls.size === 0
    this.#load.stop()
    const ofOne = isBlocked ? "worker_blocked" : "worker_died"
    this.runs.loseAll(isStopped ? "stopped" : isAlone ? ofOne : "shared_worker_died", detail)
    this.#calls.failAll(detail)
  }

  /** Pauses only the run of the event: the worker's other runs share the socket, and go on. */
  #onEvent({ run_id, claim_id, event }: EventFrame, data: Buffer): void {
    const until = this.runs.event(claim_id, event, data)
    if (until === undefined || !this.runs.setPaused(claim_id, true)) return
    this.#connection.send({ type: "pause_events", run_id, claim_id })
    const resume = () => {
      if (this.runs.setPaused(claim_id, false)) this.#connection.send({ type: "resume_events", run_id, claim_id })
    }
    until.then(resume, resume)
  }

  async #answer(call: WorkerCall, payload: Buffer[]): Promise<void> {
    const { call_id } = call
    try {
      const { handlers, language } = this.#options
      const reply = await answerCall(handlers, call, payload, language)
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
