/**
 * One run, from its `run` frame to its `done`.
 *
 * It owns an abort controller, the run's link to its checkpoints and the feed of its events. It promises: nothing is sent
 * before it starts or after `done` (W1); events are sent before the checkpoint they led to (W2), or after it when they report
 * an interrupt (W10); `done` is sent after all writes (W3); after a lost claim nothing is sent (W4). It stops when the graph
 * stops, by `cancel`, by `fail`, after a super-step by `drain` (W8), or when a write fails because the claim is lost. Between
 * `pauseEvents` and `resumeEvents` it sends no events (W9).
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { DoneFrame } from "@superstep/protocol/worker/frames"
import { CheckpointLink } from "../checkpoints/checkpoint-link.js"
import { createCheckpointer } from "../checkpoints/checkpointer.js"
import { CallFailed, type CallFields, type Connection, type Reply } from "../connection/connection.js"
import { describeError, runFailure } from "../errors/describe-error.js"
import { withAbortGrace } from "../events/abort-grace.js"
import { EventFeed } from "../events/event-feed.js"
import { EventMapper } from "../events/event-mapper.js"
import { EventPause } from "../events/event-pause.js"
import { InterruptEvents } from "../events/interrupt-events.js"
import { eventText, type WireEvent } from "../events/wire-event.js"
import { withPersistence } from "../loading/graph-export.js"
import type { CompiledGraph, StateSnapshot } from "../loading/langgraph.js"
import type { LoadedGraph } from "../loading/loader.js"
import { createStore } from "../store/store.js"
import { openInterrupts } from "../threads/thread-state.js"
import { SpanRecorder } from "../traces/span-recorder.js"
import { serialise } from "../values/serialise.js"
import { awaitCommitsBetweenSteps } from "./commit-barrier.js"
import { drainBetweenSteps, isGraphDrained } from "./drain.js"
import { EarlyCancel } from "./early-cancel.js"
import { needsHead, type RunStart, runStart, standsAt } from "./run-input.js"
import { type RunRequest, runnableConfig, streamPlan } from "./run-request.js"

/** The run whose code is executing; an uncaught error is assigned to its run by this (W5). */
export const currentRun = new AsyncLocalStorage<Run>()

// When its stream is over, a graph has requested all its checkpoints, or does so at once. If saving one failed, later ones never
// come, and the run must end anyway.
const lateCheckpointMs = 5_000

type Ending = "cancelled" | "failed" | "drained"

/** Any value can be thrown, also `undefined`. */
interface Problem {
  readonly error: unknown
}

export class Run {
  readonly #request: RunRequest
  readonly #connection: Connection
  readonly #abort = new AbortController()
  readonly #feed = new EventFeed()
  readonly #checkpoints: CheckpointLink
  readonly #pause = new EventPause()
  readonly #interrupts: InterruptEvents
  readonly #cancel: EarlyCancel
  /** Undefined when the run is not traced. */
  readonly #recorder: SpanRecorder | undefined
  #graph: CompiledGraph | undefined
  #events: EventMapper | undefined
  #ending: Ending | undefined
  /** The server's refusal, once another attempt has the run: nothing more is sent for this one (W4). */
  #lost: CallFailed | undefined
  #isDraining = false
  /** Whether it continues a super-step of an earlier attempt. */
  #repeatsStep = false
  #isOver = false

  constructor(request: RunRequest, connection: Connection) {
    const { run_id, claim_id, thread_id, has_checkpoint, attempt, durability, trace } = request.frame
    this.#request = request
    this.#connection = connection
    this.#cancel = new EarlyCancel(request, () => this.#end("cancelled", new Error("the run was cancelled")))
    this.#checkpoints = new CheckpointLink({
      call: (fields, payload) => this.#call(fields, payload),
      claim: { run_id, claim_id },
      threadId: thread_id,
      // The previous attempt may have saved the thread's first checkpoint.
      hasCheckpoint: has_checkpoint || attempt > 1,
      eventsWritten: () => this.#eventsWritten(),
      awaitsCommits: durability === "sync",
      onRefused: (error) => this.fail(error),
    })
    this.#interrupts = new InterruptEvents({
      savesAtEnd: durability === "exit",
      savedSoFar: () => this.#checkpoints.answeredSoFar(),
      allSaved: () => this.#checkpoints.idle(),
      send: (events) => this.#emit(events),
    })
    if (trace === undefined) return
    this.#recorder = new SpanRecorder({
      trace,
      send: (frame, lines) => connection.send({ type: "spans", run_id, claim_id, ...frame }, lines),
      full: () => connection.full(),
    })
  }

  /** Fields that identify the run in log lines of its graph. */
  get logFields() {
    const { run_id, thread_id, attempt, graph_id } = this.#request.frame
    return { run_id, thread_id, attempt, graph_id }
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Never throws: every outcome becomes the run's `done`, except that nothing is sent when the claim is lost. */
  execute(loaded: LoadedGraph): Promise<void> {
    return currentRun.run(this, async () => {
      let problem: Problem | undefined
      try {
        await this.#stream(loaded)
      } catch (error) {
        problem = { error }
        if (this.#isDraining && isGraphDrained(error)) this.#ending ??= "drained"
      }
      await this.#finish(problem)
    })
  }

  cancel(): void {
    this.#pause.end()
    this.#cancel.cancel()
  }

  /** Makes the graph end when its super-step is over (W8). */
  drain(): void {
    this.#isDraining = true
  }

  pauseEvents(): void {
    if (this.#ending === undefined && !this.#lost) this.#pause.begin()
  }

  resumeEvents(): void {
    this.#pause.end()
  }

  /** Ends the run with an error outside of what the graph awaits, such as an unhandled rejection. */
  fail(error: unknown): void {
    this.#end("failed", error)
  }

  #end(ending: Ending, reason: unknown): void {
    if (this.#isOver) return
    this.#ending ??= ending
    if (this.#ending === "cancelled") this.#recorder?.cancel(reason)
    this.#stop(reason)
  }

  /** Whatever ended the run before: from now on nothing is sent for it. */
  #lose(refusal: CallFailed): void {
    this.#lost = refusal
    if (this.#isOver) return
    this.#recorder?.drop()
    this.#stop(refusal)
  }

  #stop(reason: unknown): void {
    this.#pause.end()
    this.#abort.abort(reason)
  }

  async #stream(loaded: LoadedGraph): Promise<void> {
    const { signal } = this.#abort
    const { graph, input, config } = await withAbortGrace(this.#prepare(loaded), signal)
    signal.throwIfAborted()
    const { frame } = this.#request
    const { engineModes, usesEvents } = streamPlan(frame)
    const toolsNameTask = !loaded.library.isSince("1.7.0")
    const events = new EventMapper(frame, toolsNameTask)
    this.#events = events
    if (await this.#repeatsBreakpoint(graph, events)) return
    // With a version LangGraph also streams a lightweight checkpoint before each values.
    const version = usesEvents || frame.protocol_events ? { version: "v2" } : {}
    const options = { ...config, ...version, streamMode: engineModes, signal }
    // LangGraph gives the stream only with its first chunk.
    const stream = usesEvents
      ? graph.streamEvents(input, options)
      : await withAbortGrace(graph.stream(input, options), signal)
    try {
      await this.#feed.read(stream, signal, (item) =>
        this.#emit(this.#interrupts.take(usesEvents ? events.fromLangChainEvent(item) : events.fromChunk(item))),
      )
    } finally {
      // The interrupts are open, even if another node fails.
      const late = setTimeout(() => this.#checkpoints.expectNoMore(), lateCheckpointMs)
      await this.#interrupts.end().finally(() => clearTimeout(late))
    }
  }

  async #prepare(loaded: LoadedGraph): Promise<RunStart & { graph: CompiledGraph }> {
    const { context, frame } = this.#request
    const { run_id, claim_id, thread_id } = frame
    const config = runnableConfig(this.#request, loaded.library.version, this.#recorder)
    const runtime = { accessContext: "threads.create_run", executionRuntime: { context } } as const
    const { graph: shared, library } = await loaded.use(config, runtime)
    const checkpointer = createCheckpointer(library.module, this.#checkpoints, {
      newVersion: () => this.#cancel.inputApplied(),
      put: (metadata) => this.#cancel.checkpointAsked(metadata),
      repeatsStep: () => this.#repeatsStep,
    })
    const call = this.#call.bind(this)
    const store = createStore(library.module, { call, claim: { run_id, claim_id } })
    const graph = withPersistence(shared, checkpointer, store)
    // With durability `exit` nothing is saved in between, so the next attempt would start from the beginning.
    if (frame.durability !== "exit") drainBetweenSteps(graph, () => this.#isDraining)
    if (frame.durability === "sync") awaitCommitsBetweenSteps(graph)
    this.#graph = graph
    const thread = { configurable: { thread_id } }
    const head = needsHead(library, this.#request) ? await this.#checkpoints.get(checkpointer.serde, thread) : undefined
    const start = runStart(library, this.#request, config, head)
    this.#repeatsStep = start.input === null && frame.attempt > 1
    // An earlier attempt has applied it, or a graph on another server does (RemoteGraph).
    if (start.input === null || graph._runLoop === undefined) this.#cancel.inputApplied()
    else if (frame.durability === "sync" && graph.nodes?.__start__ !== undefined) this.#cancel.waitForFirstStep()
    return { graph, ...start }
  }

  /** If the previous attempt stopped at a breakpoint and could not report it, this one reports it and runs nothing. */
  async #repeatsBreakpoint(graph: CompiledGraph, events: EventMapper): Promise<boolean> {
    const { attempt, run_id, interrupt_before: before = graph.interruptBefore } = this.#request.frame
    const { interrupt_after: after = graph.interruptAfter } = this.#request.frame
    const head = this.#checkpoints.newest()
    if (attempt === 1 || head?.metadata.run_id !== run_id) return false
    const state = await this.#finalState()
    if (state === undefined) return false
    if (!standsAt(head, state.next, before) && !standsAt(head, await this.#lastNodes(graph, state), after)) return false
    const stop = { __interrupt__: [] }
    const reported = [
      events.fromRoot("values", state.values),
      events.fromRoot("updates", stop),
      events.fromRoot("values", stop),
    ]
    await this.#emit(reported.flat())
    return true
  }

  /** The nodes whose super-step led to a state. */
  async #lastNodes(graph: CompiledGraph, { metadata, parentConfig }: StateSnapshot): Promise<readonly string[]> {
    if (metadata?.source !== "loop" || parentConfig === undefined) return []
    return (await graph.getState(parentConfig)).next
  }

  /** @returns  a promise to wait for while the socket is full, or the events are paused */
  #emit(events: readonly WireEvent[]): Promise<void> | undefined {
    if (this.#isOver || this.#lost) return undefined
    const paused = this.#pause.over()
    if (paused !== undefined) return paused.then(() => this.#emit(events))
    const { run_id, claim_id } = this.#request.frame
    for (const each of events) {
      this.#connection.send({ type: "event", run_id, claim_id, event: each.name, payload: ["data"] }, [eventText(each)])
    }
    return this.#connection.full()
  }

  async #eventsWritten(): Promise<void> {
    await this.#feed.written()
    await this.#emit(this.#events?.protocol?.flush() ?? [])
  }

  async #call(fields: CallFields, payload?: readonly (readonly [string, string])[]): Promise<Reply> {
    if (this.#lost) throw this.#lost
    try {
      return await this.#connection.call(fields, payload)
    } catch (error) {
      if (error instanceof CallFailed && error.name === "ClaimLost") this.#lose(error)
      throw error
    }
  }

  async #finish(thrown: Problem | undefined): Promise<void> {
    // Here, since the worker waits for the server anyway.
    await this.#recorder?.flush()
    await this.#checkpoints.sent()
    let state: StateSnapshot | undefined
    let problem = thrown
    try {
      state = await this.#finalState()
    } catch (error) {
      problem ??= { error }
    }
    await this.#endProtocol(state, problem)
    await this.#recorder?.end()
    this.#isOver = true
    this.#cancel.end()
    this.#checkpoints.close(new Error(`run ${this.#request.frame.run_id} is over`))
    if (!this.#lost) this.#done(state, problem)
  }

  /** No message and no subgraph stays open. A drained run goes on elsewhere. */
  async #endProtocol(state: StateSnapshot | undefined, problem: Problem | undefined): Promise<void> {
    const protocol = this.#events?.protocol
    if (protocol === undefined || this.#ending === "drained") return
    const failed = this.#failed(problem)
    if (failed !== undefined) await this.#emit(protocol.end("failed", describeError(failed.error).message))
    else if (this.#ending === "cancelled") await this.#emit(protocol.end("interrupted", "the run was cancelled"))
    else await this.#emit(protocol.end(stopped(state) === "interrupted" ? "interrupted" : "completed"))
  }

  /** The saver remembers the newest checkpoint, so this needs no call to the server. */
  async #finalState(): Promise<StateSnapshot | undefined> {
    if (this.#lost || this.#ending === "drained") return undefined
    if (this.#checkpoints.newest() === undefined) return undefined
    return await this.#graph?.getState({ configurable: { thread_id: this.#request.frame.thread_id } })
  }

  #done(state: StateSnapshot | undefined, problem: Problem | undefined): void {
    const { run_id, claim_id } = this.#request.frame
    const failed = this.#failed(problem)
    const ended = failed !== undefined ? "error" : stopped(state)
    const frame: DoneFrame = {
      type: "done",
      run_id,
      claim_id,
      status: this.#ending === "cancelled" || this.#ending === "drained" ? this.#ending : ended,
      ...(failed === undefined ? {} : runFailure(failed.error)),
      ...(state === undefined ? {} : { next: state.next }),
      payload: ["values", "interrupts"],
    }
    const values = state === undefined ? "" : serialise(state.values)
    this.#connection.send(frame, [values, serialise(state === undefined ? {} : openInterrupts(state))])
  }

  #failed(problem: Problem | undefined): Problem | undefined {
    if (this.#ending === "cancelled" || this.#ending === "drained") return undefined
    return this.#ending === "failed" ? { error: this.#abort.signal.reason } : problem
  }
}

// A task at its second interrupt already has a write, its first answer, so LangGraph leaves it out of `next`.
function stopped(state: StateSnapshot | undefined): "success" | "interrupted" {
  if (state === undefined) return "success"
  const asks = state.tasks.some(({ interrupts }) => interrupts.length > 0)
  return asks || state.next.length > 0 ? "interrupted" : "success"
}
