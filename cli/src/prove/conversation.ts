/**
 * A conversation of a user's graph with whatever server lives: runs on a thread of its own, each of which is requested while the one
 * before it executes. Several clients look at it. Requests without a reply are repeated with the same key.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { EventClient, isNotNow, UnexpectedAnswer } from "./event-client.js"
import type { HistoryEntry, RunFacts, ThreadFacts } from "./facts.js"
import { type Input, withMessageId } from "./inputs.js"

const retryMs = 50
const readMs = 200
// A request to a server that is paused gets no reply; another server is asked then.
const replyMs = 10_000
// The API's limit. Older states are not judged.
const historyLimit = 1000

export interface ConversationOptions {
  readonly name: string
  readonly graph: string
  readonly inputs: readonly Input[]
  /** The server to ask at this moment. */
  readonly url: () => string
  /** Of each request. */
  readonly headers: Readonly<Record<string, string>>
  /** Ends it early. */
  readonly signal: AbortSignal
  /** How long it may take until everything has ended, in milliseconds; the same for looking at it afterwards. */
  readonly patienceMs: number
}

/** A run that was acknowledged. */
interface Turn {
  readonly runId: string
  readonly messageId: string
  /** It created the run, and reads its stream. */
  readonly client: EventClient
  readonly follower: EventClient
  readonly statuses: string[]
  readonly ended: Promise<unknown>
}

interface RunReply {
  readonly run_id: string
  readonly status: string
}

interface StateReply {
  readonly checkpoint: { readonly checkpoint_id: string }
  readonly parent_checkpoint: { readonly checkpoint_id: string } | null
  readonly metadata: {
    readonly step: number
    readonly source: string
    readonly run_id?: string
    readonly run_attempt?: number
  }
}

export class Conversation {
  readonly threadId = randomUUID()
  readonly #options: ConversationOptions
  readonly #turns: Turn[] = []
  readonly #reads: string[][] = []
  readonly #faults: string[] = []
  /** Of the run that is being created. */
  #creating: EventClient | undefined
  #isOver = false
  /** Node 20 may drop a time limit of `AbortSignal.any` to which only the combined signal refers. */
  readonly #timeLimits: AbortSignal[] = []

  constructor(options: ConversationOptions) {
    this.#options = options
  }

  /** False while a run of it may be executing. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** How many of its runs were continued in a further attempt, as their streams say. */
  get continued(): number {
    return this.#turns.filter(({ client }) => client.events.some(({ data }) => Number(data?.attempt) > 1)).length
  }

  /** Closes the connections of its clients, as a network does; they connect again. */
  disconnect(): void {
    for (const client of [this.#creating, ...this.#turns.flatMap((turn) => [turn.client, turn.follower])])
      client?.disconnect()
  }

  /**
   * Resolves when the streams of all runs have ended, or its time has; what is missing then is for the judge.
   * @throws AbortError  it was ended early
   */
  async hold(): Promise<void> {
    const { inputs, signal } = this.#options
    const over = this.#timeLimit()
    let reading: Promise<void> | undefined
    try {
      await this.#ask(over, "POST", "/threads", { thread_id: this.threadId, if_exists: "do_nothing" })
      reading = this.#readUntilOver(over)
      for (const input of inputs) this.#turns.push(await this.#create(input, over))
      await Promise.all(this.#turns.map(({ ended }) => ended))
    } catch (error) {
      signal.throwIfAborted()
      this.#faults.push(over.aborted ? "it had not ended when its time was over" : wordsOf(error))
    } finally {
      this.#isOver = true
      await reading
    }
  }

  /**
   * Looks at everything once more, when all servers live.
   * @param urls  of each server: all must tell the same
   * @throws AbortError  it was ended early
   */
  async facts(urls: readonly string[]): Promise<ThreadFacts> {
    const { name, graph, signal } = this.#options
    const over = this.#timeLimit()
    const path = `/threads/${this.threadId}`
    const nothing = { allRunIds: [], history: [], isHistoryCut: false, runs: [], status: "unknown", values: null }
    const known = { name, graph, threadId: this.threadId, reads: this.#reads, faults: this.#faults }
    try {
      const thread = await this.#ask<{ status: string; values: unknown }>(over, "GET", path)
      const runs = await this.#ask<RunReply[]>(over, "GET", `${path}/runs?limit=1000`)
      const history = await this.#history(over)
      const statusOf = (turn: Turn) => runs.find(({ run_id }) => run_id === turn.runId)?.status ?? "gone"
      const factsOfRuns = this.#turns.map((turn) => this.#factsOf(turn, { status: statusOf(turn), urls, over }))
      return {
        ...known,
        runs: await Promise.all(factsOfRuns),
        allRunIds: runs.map(({ run_id }) => run_id),
        history,
        isHistoryCut: history.length >= historyLimit,
        status: thread.status,
        values: thread.values,
      }
    } catch (error) {
      signal.throwIfAborted()
      const fault = over.aborted ? "it could not be read within its time after the attack" : wordsOf(error)
      return { ...nothing, ...known, faults: [...this.#faults, fault] }
    }
  }

  async #factsOf(
    { runId, messageId, client, follower, statuses }: Turn,
    { status, urls, over }: { readonly status: string; readonly urls: readonly string[]; readonly over: AbortSignal },
  ): Promise<RunFacts> {
    const isOpen = status === "pending" || status === "running" || status === "gone"
    const logs = isOpen ? [] : await Promise.all(urls.map((url) => this.#readAgain(url, runId, over)))
    const failure = client.events.findLast(({ event }) => event === "error")?.data
    const error = failure && `${failure.error}: ${failure.message}`
    return { runId, messageId, status, statuses, error, stream: client.events, follower: follower.events, logs }
  }

  async #readAgain(url: string, runId: string, over: AbortSignal) {
    const client = new EventClient(() => url, over, this.#options.headers)
    await client.follow({ threadId: this.threadId, runId })
    return client.events
  }

  /** Requests a run until the request is acknowledged. @throws UnexpectedAnswer @throws AbortError */
  async #create(input: Input, over: AbortSignal): Promise<Turn> {
    const { graph, url, headers } = this.#options
    const messageId = randomUUID()
    const body = {
      assistant_id: graph,
      input: withMessageId(input, messageId),
      stream_mode: ["updates", "messages-tuple"],
      stream_resumable: true,
      multitask_strategy: "enqueue",
    }
    const client = new EventClient(url, over, { ...headers, "idempotency-key": randomUUID() })
    this.#creating = client
    for (;;) {
      const created = await this.#request(client, body, over)
      if (!created) {
        await sleep(retryMs, undefined, { signal: over })
        continue
      }
      const { runId } = created
      const follower = new EventClient(url, over, headers)
      const followed = follower.follow({ threadId: this.threadId, runId })
      const ended = Promise.all([created.ended, followed])
      // It is awaited when all runs are requested.
      ended.catch(() => undefined)
      return { runId, messageId, client, follower, statuses: [], ended }
    }
  }

  /** @returns undefined when no reply came, or one that it is not the moment */
  #request(
    client: EventClient,
    body: object,
    over: AbortSignal,
  ): Promise<{ readonly runId: string; readonly ended: Promise<void> } | undefined> {
    return new Promise((resolve, reject) => {
      const ended: Promise<void> = client.create(this.threadId, body, ({ runId }) => resolve({ runId, ended }))
      // Of no effect once the run is acknowledged: then `ended` tells the failure.
      ended.catch((error: unknown) =>
        error instanceof UnexpectedAnswer || over.aborted ? reject(error) : resolve(undefined),
      )
    })
  }

  /** Reads what clients look at while a run executes, again and again, one after the other. */
  async #readUntilOver(over: AbortSignal): Promise<void> {
    try {
      while (!this.#isOver) {
        const runs = await this.#ask<RunReply[]>(over, "GET", `/threads/${this.threadId}/runs?limit=1000`)
        for (const { runId, statuses } of this.#turns) {
          const found = runs.find(({ run_id }) => run_id === runId)
          if (found) statuses.push(found.status)
        }
        this.#reads.push((await this.#history(over)).map(({ checkpointId }) => checkpointId))
        await sleep(readMs, undefined, { signal: over })
      }
    } catch (error) {
      if (!over.aborted) this.#faults.push(wordsOf(error))
    }
  }

  /** Oldest first. */
  async #history(over: AbortSignal): Promise<HistoryEntry[]> {
    const path = `/threads/${this.threadId}/history?limit=${historyLimit}`
    const states = await this.#ask<StateReply[]>(over, "GET", path)
    return states.reverse().map(({ checkpoint, parent_checkpoint, metadata }) => ({
      checkpointId: checkpoint.checkpoint_id,
      parentId: parent_checkpoint?.checkpoint_id ?? null,
      step: metadata.step,
      source: metadata.source,
      runId: metadata.run_id ?? "",
      attempt: metadata.run_attempt ?? 1,
    }))
  }

  /** Asks until a server answers. @throws UnexpectedAnswer @throws AbortError */
  async #ask<T>(over: AbortSignal, method: string, path: string, body?: object): Promise<T> {
    for (;;) {
      const reply = await this.#askOnce(over, method, path, body)
      if (reply !== undefined) return JSON.parse(reply) as T
      await sleep(retryMs, undefined, { signal: over })
    }
  }

  async #askOnce(over: AbortSignal, method: string, path: string, body?: object): Promise<string | undefined> {
    const { url, headers: own } = this.#options
    const headers = { ...own, "content-type": "application/json" }
    const asking = new AbortController()
    const timer = setTimeout(() => asking.abort(), replyMs)
    const signal = AbortSignal.any([over, asking.signal])
    try {
      const response = await fetch(`${url()}${path}`, {
        method,
        headers,
        signal,
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (response.ok) return text
      if (isNotNow(response)) return undefined
      throw new UnexpectedAnswer(`${method} ${path} was answered with ${response.status}: ${text}`)
    } catch (error) {
      if (error instanceof UnexpectedAnswer || over.aborted) throw error
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  #timeLimit(): AbortSignal {
    const { signal, patienceMs } = this.#options
    const limit = AbortSignal.timeout(patienceMs)
    this.#timeLimits.push(limit)
    return AbortSignal.any([signal, limit])
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
