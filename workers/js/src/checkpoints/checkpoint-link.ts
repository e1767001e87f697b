/**
 * The checkpoints of one run (or of one call about a thread), stored by the server and accessed by calls.
 *
 * It remembers the newest checkpoint of its thread's root, since no other writer exists while a run holds its claim: reading
 * values, next nodes and interrupts at the end of a run then needs no round trip. Writes are sent in the order of LangGraph's
 * calls, and `sent` resolves when the last one was sent (W3). After `close` every call fails with the given reason.
 */

import type { CallFields, Reply } from "../connection/connection.js"
import type { Checkpoint, CheckpointTuple, DeltaChannelHistory, RunnableConfig, Serde } from "../loading/langgraph.js"
import {
  checkpointLines,
  checkpointRef,
  decodeHistory,
  decodeTuple,
  encodeBlobs,
  encodeWrites,
  lineCount,
  refConfig,
  type SharedLines,
} from "./checkpoint-lines.js"
import { checkpointMetadata } from "./checkpoint-metadata.js"
import { ExpectedCheckpoints } from "./expected-checkpoints.js"
import { NewestCheckpoint } from "./newest-checkpoint.js"
import { type SavedCheckpoint, type Task, tupleOf } from "./saved-checkpoint.js"

export interface CheckpointLinkOptions {
  /** Calls the server. */
  readonly call: (fields: CallFields, payload?: readonly (readonly [string, string])[]) => Promise<Reply>
  /** The claim that every write names; a reader has none. */
  readonly claim?: { readonly run_id: string; readonly claim_id: string }
  /** The run's thread. A graph that a node calls with another thread uses this link too, and is distinguished by its thread. */
  readonly threadId: string
  /** False when that thread has no checkpoint, so that no call is needed. */
  readonly hasCheckpoint: boolean
  /** Resolves when every earlier event has been written to the socket (W2). */
  readonly eventsWritten: () => Promise<void>
  /** Whether the graph goes on only when a write is committed (durability `sync`), or already when it was sent. */
  readonly awaitsCommits: boolean
  /** Called when the server rejected a write that the graph does not await. */
  readonly onRefused: (error: unknown) => void
}

export interface ListOptions {
  readonly before?: RunnableConfig
  readonly limit?: number
  readonly filter?: Readonly<Record<string, unknown>>
}

/** The thread was pruned, or one of its runs deleted, after the checkpoint was loaded. The server knows this error by name. */
export class CheckpointGone extends Error {
  override readonly name = "CheckpointGone"
  constructor(threadId: string, id: string) {
    super(`checkpoint ${id} of thread ${threadId} was deleted while it was read: try again`)
  }
}

export class CheckpointLink {
  readonly #options: CheckpointLinkOptions
  /** Writes without a reply yet. */
  readonly #pending = new Set<Promise<unknown>>()
  /** Settles when the last write was sent. */
  #lastSent: Promise<unknown> = Promise.resolve()
  /** Namespaces of the run's thread that this run has written to. */
  readonly #written = new Set<string>()
  readonly #newest = new NewestCheckpoint()
  readonly #expected = new ExpectedCheckpoints()
  #closed: Error | undefined

  constructor(options: CheckpointLinkOptions) {
    this.#options = options
  }

  /** The root's newest checkpoint, if this run knows it. */
  newest(): CheckpointTuple | undefined {
    const known = this.#newest.get()
    return known && tupleOf(known)
  }

  /** Resolves when all writes were sent. */
  async sent(): Promise<void> {
    for (let last: unknown; last !== this.#lastSent; ) {
      last = this.#lastSent
      await last
    }
  }

  /** Resolves when all writes have succeeded or failed. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
  }

  /** Resolves when all writes requested so far have a reply, and so have the checkpoints that they belong to. */
  async answeredSoFar(): Promise<void> {
    await Promise.allSettled([...this.#pending, ...this.#expected.all()])
  }

  /** Stops waiting for checkpoints whose writes came before them: a failed graph may never save them. */
  expectNoMore(): void {
    this.#expected.close()
  }

  /** From now on every call fails with `reason`. */
  close(reason: Error): void {
    this.#closed ??= reason
    this.#expected.close()
  }

  async get(serde: Serde, config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const saved = await this.load(serde, config)
    return saved && tupleOf(saved)
  }

  /** Like `get`, with the places of the checkpoint's writes. */
  async load(serde: Serde, config: RunnableConfig): Promise<SavedCheckpoint | undefined> {
    const { threadId, ns, id } = checkpointRef(config)
    const isRoot = threadId === this.#options.threadId && ns === ""
    const known = isRoot ? this.#newest.get() : undefined
    if (known !== undefined && (id === undefined || known.checkpoint.id === id)) return known
    if (this.#isNew(threadId, ns)) return undefined
    // A read must not overtake earlier writes.
    await this.idle()
    const saved = await this.#ask(serde, threadId, ns, id)
    if (saved !== undefined) this.#expected.add(saved.checkpoint.id)
    if (isRoot && id === undefined && saved !== undefined) this.#newest.set(saved)
    return saved
  }

  /**
   * Reads, in one call, the data from which channels without a stored value at a checkpoint are rebuilt.
   * @throws CheckpointGone  since an empty history would be read as an empty channel
   */
  async history(
    serde: Serde,
    config: RunnableConfig,
    channels: readonly string[],
  ): Promise<Record<string, DeltaChannelHistory>> {
    const { threadId, ns, id } = checkpointRef(config)
    const nothing = { blobs: [], writes: [] }
    if (this.#isNew(threadId, ns)) return decodeHistory(serde, channels, nothing, [])
    await this.idle()
    const wanted = id === undefined ? {} : { checkpoint_id: id }
    const where = { thread_id: threadId, checkpoint_ns: ns, ...wanted }
    const { header, payload } = await this.#call({ method: "checkpoint.ancestors", ...where, channels })
    if (header.history === undefined && id !== undefined) throw new CheckpointGone(threadId, id)
    return decodeHistory(serde, channels, header.history ?? nothing, payload)
  }

  /** Whether no call is needed: the run's thread had no checkpoint, and the run has written none in this namespace. */
  #isNew(threadId: string, ns: string): boolean {
    return threadId === this.#options.threadId && !this.#options.hasCheckpoint && !this.#written.has(ns)
  }

  async *list(serde: Serde, config: RunnableConfig, options: ListOptions): AsyncGenerator<CheckpointTuple> {
    const { threadId, id } = checkpointRef(config)
    const ns = config.configurable?.checkpoint_ns
    if (id !== undefined) {
      const tuple = await this.get(serde, config)
      if (tuple !== undefined) yield tuple
      return
    }
    await this.idle()
    const before =
      options.before === undefined
        ? undefined
        : checkpointRef({ configurable: { thread_id: threadId, ...options.before.configurable } }).id
    const question = {
      method: "checkpoint.list",
      thread_id: threadId,
      ...(typeof ns === "string" ? { checkpoint_ns: ns } : {}),
      ...(options.filter === undefined ? {} : { filter: options.filter }),
    } as const
    yield* this.#pages(serde, question, { before, limit: options.limit })
  }

  /** Reads page by page: a thread's whole history may not fit into memory. */
  async *#pages(
    serde: Serde,
    question: Extract<CallFields, { method: "checkpoint.list" }>,
    { before, limit }: { before: string | undefined; limit: number | undefined },
  ): AsyncGenerator<CheckpointTuple> {
    let [last, left] = [before, limit]
    for (;;) {
      const { header, payload } = await this.#call({
        ...question,
        ...(last === undefined ? {} : { before: last }),
        ...(left === undefined ? {} : { limit: left }),
      })
      const { tuples = [] } = header
      const shared: SharedLines = new Map()
      let position = 0
      for (const fields of tuples) {
        const end = position + lineCount(fields)
        yield tupleOf(await decodeTuple(serde, question.thread_id, fields, payload.slice(position, end), shared))
        position = end
        last = fields.checkpoint_id
      }
      if (header.more !== true || tuples.length === 0) return
      if (left !== undefined) left -= tuples.length
    }
  }

  async put(
    serde: Serde,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: Readonly<Record<string, unknown>>,
    newVersions: Readonly<Record<string, number | string>>,
  ): Promise<RunnableConfig> {
    const { threadId, ns, id: parentId } = checkpointRef(config)
    const kept = checkpointMetadata(config, metadata)
    const tuple = { ...(parentId === undefined ? {} : { parentConfig: refConfig(threadId, ns, parentId) }) }
    const saved = refConfig(threadId, ns, checkpoint.id)
    const isOwn = threadId === this.#options.threadId
    const isRoot = isOwn && ns === ""
    if (isOwn) this.#written.add(ns)
    if (isRoot) this.#newest.set({ ...tuple, config: saved, checkpoint, metadata: kept, writes: [] })
    // Starts encoding before the first `await`: the graph goes on and may change the values.
    const encoding = encodeBlobs(serde, checkpoint.channel_values, newVersions)
    const head = checkpointLines(checkpoint, kept)
    const { answered, graphMayContinue } = this.#write(async () => {
      const { blobs, lines } = await encoding
      const parent = parentId === undefined ? {} : { parent_checkpoint_id: parentId }
      const where = { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpoint.id, ...parent }
      return [{ method: "checkpoint.put", ...this.#claim(), ...where, ...this.#mayWait(), blobs }, [...head, ...lines]]
    })
    this.#expected.add(checkpoint.id, answered)
    await graphMayContinue
    return saved
  }

  async putWrites(
    serde: Serde,
    config: RunnableConfig,
    writes: readonly (readonly [string, unknown])[],
    task: Task,
  ): Promise<void> {
    const { threadId, ns, id } = checkpointRef(config)
    if (id === undefined) throw new Error("writes need configurable.checkpoint_id")
    if (threadId === this.#options.threadId && ns === "") this.#newest.addWrites(id, task, writes)
    this.#expected.expect(id)
    const encoding = encodeWrites(serde, task, writes)
    await this.#write(async () => {
      const encoded = await encoding
      const where = { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id }
      const fields = { method: "checkpoint.put_writes", ...this.#claim(), ...where, ...this.#mayWait() } as const
      return [{ ...fields, writes: encoded.writes }, encoded.lines]
    }).graphMayContinue
  }

  /**
   * Sends a write after all earlier writes, and after the events that led to it: a task whose writes are saved does not run
   * again (W2).
   * @returns a promise of the reply, and the promise that the graph waits for
   */
  #write(prepare: () => Promise<readonly [CallFields, readonly (readonly [string, string])[]]>) {
    const before = this.#lastSent
    // Called at once, so that writes of one tick are also sent together, and share a commit.
    const eventsWritten = this.#options.eventsWritten()
    const sent = (async () => {
      const [fields, lines] = await prepare()
      await before
      await eventsWritten
      // In an object, so that the reply is not awaited here.
      return { answered: this.#call(fields, lines) }
    })()
    this.#lastSent = sent.then(
      () => undefined,
      () => undefined,
    )
    const answered = this.#track(sent.then((it) => it.answered))
    if (!this.#options.awaitsCommits) answered.catch(this.#options.onRefused)
    return { answered, graphMayContinue: this.#options.awaitsCommits ? answered : sent }
  }

  async #ask(serde: Serde, threadId: string, ns: string, id: string | undefined): Promise<SavedCheckpoint | undefined> {
    const wanted = id === undefined ? {} : { checkpoint_id: id }
    const reply = await this.#call({ method: "checkpoint.get", thread_id: threadId, checkpoint_ns: ns, ...wanted })
    const { tuple } = reply.header
    return tuple === undefined ? undefined : await decodeTuple(serde, threadId, tuple, reply.payload)
  }

  #mayWait(): { may_wait?: true } {
    return this.#options.awaitsCommits ? {} : { may_wait: true }
  }

  #claim() {
    const { claim } = this.#options
    if (claim === undefined) throw new Error("checkpoints are written by runs, not by calls about a thread")
    return claim
  }

  #call(fields: CallFields, payload?: readonly (readonly [string, string])[]): Promise<Reply> {
    return this.#closed === undefined ? this.#options.call(fields, payload) : Promise.reject(this.#closed)
  }

  #track<Value>(work: Promise<Value>): Promise<Value> {
    const done = () => this.#pending.delete(work)
    this.#pending.add(work)
    work.then(done, done)
    return work
  }
}
