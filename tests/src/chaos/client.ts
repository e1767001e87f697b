/** Has a conversation with whatever server lives: creates the thread and its runs, and follows their streams. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { EventClient, isNotNow, type ReceivedEvent, UnexpectedAnswer } from "superstep/prove/event-client"
import type { KillableServer } from "superstep/prove/killable-server"
import { bodyOf, type Conversation } from "./conversation.js"
import type { Seen } from "./verdict.js"

// Longer than anything that a client is made to wait for: a lease, a restart, and a minute without Postgres.
const patienceMs = 180_000
const retryMs = 30
const eventsBeforeCancel = 5

/** A client of each conversation at each server, and only there; the conversations are named after it. */
export const clientsAtEach = (
  servers: readonly KillableServer[],
  conversations: readonly Conversation[],
  random: Random,
): ConversationClient[] =>
  conversations.flatMap((one) =>
    servers.map((server) => {
      const conversation = { ...one, name: `${one.name} at ${server.name}` }
      return new ConversationClient(conversation, servers, random, () => server.url)
    }),
  )

export class ConversationClient implements Seen {
  readonly conversation: Conversation
  readonly acknowledged: string[] = []
  readonly joined = new Map<string, unknown>()
  readonly #clients = new Map<string, EventClient>()
  /** Those who came later. */
  readonly #followers = new Map<string, EventClient>()
  readonly #servers: readonly KillableServer[]
  readonly #random: Random
  readonly #signal = AbortSignal.timeout(patienceMs)
  #threadId: string | undefined

  /** @param url  the server to ask at this moment; any that lives unless told */
  constructor(conversation: Conversation, servers: readonly KillableServer[], random: Random, url?: () => string) {
    this.conversation = conversation
    if (url) this.url = url
    this.#servers = servers
    this.#random = random
  }

  /** @throws Error  before the server has acknowledged a run */
  get threadId(): string {
    if (this.#threadId === undefined) throw new Error(`${this.conversation.name} has no thread yet`)
    return this.#threadId
  }

  get streams(): ReadonlyMap<string, readonly ReceivedEvent[]> {
    return new Map([...this.#clients].map(([runId, { events }]) => [runId, events]))
  }

  get followers(): ReadonlyMap<string, readonly ReceivedEvent[]> {
    return new Map([...this.#followers].map(([runId, { events }]) => [runId, events]))
  }

  /** How often its clients had to connect in all. */
  get connections(): number {
    const all = [...this.#clients.values(), ...this.#followers.values()]
    return all.reduce((sum, { connections }) => sum + connections, 0)
  }

  /** The server to ask at this moment: any that lives and answers, as a load balancer would choose. */
  readonly url: () => string = () => {
    const living = this.#servers.filter(({ isRunning, isPaused }) => isRunning && !isPaused)
    return this.#random.pick(living.length > 0 ? living : this.#servers).url
  }

  /** Reads the streams of runs from their beginning, as somebody does who was not there. */
  async readAgain(runIds: readonly string[]): Promise<ReadonlyMap<string, readonly ReceivedEvent[]>> {
    const read = async (runId: string) => {
      const client = new EventClient(this.url, AbortSignal.timeout(patienceMs))
      await client.follow({ threadId: this.threadId, runId })
      return [runId, client.events] as const
    }
    return new Map(await Promise.all(runIds.map(read)))
  }

  /** Cuts the connections of its streams, as a network does; they connect again. */
  disconnect(): void {
    for (const client of [...this.#clients.values(), ...this.#followers.values()]) client.disconnect()
  }

  /**
   * Begins the conversation: resolves when its first run is acknowledged. What a server did not acknowledge is asked
   * for again, on another thread.
   * @returns what goes on: it ends when the streams have, and when every turn was acknowledged
   */
  async begin(): Promise<{ readonly ended: Promise<void> }> {
    for (;;) {
      const thread = await this.#json<{ thread_id: string }>("POST", "/threads", {})
      this.#threadId = thread.thread_id
      const first = await this.#create(0)
      if (!first) continue
      const ended = this.#goOn(first.ended)
      // It is awaited later: a failure meanwhile is told then.
      ended.catch(() => undefined)
      return { ended }
    }
  }

  async #goOn(first: Promise<void>): Promise<void> {
    const { graph, turns, isCancelled, isJoined } = this.conversation
    if (graph === "ask") await this.#untilInterrupted()
    const later: Promise<void>[] = [first]
    if (isCancelled) later.push(this.#cancel())
    if (isJoined) later.push(this.#follow(), this.#join())
    for (let turn = 1; turn < (graph === "ask" ? 2 : turns); turn++) {
      const next = await this.#create(turn)
      // It may have been created all the same: the verdict looks at what is there.
      if (!next) break
      later.push(next.ended)
    }
    await Promise.all(later)
  }

  /** @returns undefined when no server acknowledged the run @throws as `#send` does */
  async #create(turn: number): Promise<{ readonly ended: Promise<void> } | undefined> {
    const body = bodyOf(this.conversation, turn)
    if (!this.conversation.isStreamed) {
      const reply = await this.#send<{ run_id: string }>("POST", `/threads/${this.threadId}/runs`, body)
      if (!reply) return undefined
      this.acknowledged.push(reply.run_id)
      return { ended: Promise.resolve() }
    }
    const client = new EventClient(this.url, this.#signal)
    return new Promise((resolve, reject) => {
      const ended: Promise<void> = client.create(this.threadId, body, ({ runId }) => {
        this.acknowledged.push(runId)
        this.#clients.set(runId, client)
        resolve({ ended })
      })
      ended.catch((error: unknown) => {
        // Once the run is acknowledged neither does anything: `ended` tells the failure.
        if (error instanceof UnexpectedAnswer || this.#signal.aborted) reject(error)
        else resolve(undefined)
      })
    })
  }

  /** Another client reads the run's stream from its beginning while it executes. */
  async #follow(): Promise<void> {
    const [runId = ""] = this.acknowledged
    const follower = new EventClient(this.url, this.#signal)
    this.#followers.set(runId, follower)
    await follower.follow({ threadId: this.threadId, runId })
  }

  /** Waits for the run's end without its stream, by whatever server answers. */
  async #join(): Promise<void> {
    const [runId = ""] = this.acknowledged
    this.joined.set(runId, await this.#json("GET", `/threads/${this.threadId}/runs/${runId}/join`))
  }

  /** Cancels the run when some of its stream has come. One that has ended meanwhile cannot be cancelled any more. */
  async #cancel(): Promise<void> {
    const [runId = ""] = this.acknowledged
    const client = this.#clients.get(runId)
    while (client && client.events.length < eventsBeforeCancel && !client.hasEnded) {
      await sleep(retryMs, undefined, { signal: this.#signal })
    }
    const path = `/threads/${this.threadId}/runs/${runId}`
    await this.#json("POST", `${path}/cancel?action=interrupt`).catch(async (error: unknown) => {
      const { status } = await this.#json<{ status: string }>("GET", path)
      if (status === "pending" || status === "running") throw error
    })
  }

  async #untilInterrupted(): Promise<void> {
    const path = `/threads/${this.threadId}`
    for (;;) {
      const { status } = await this.#json<{ status: string }>("GET", path)
      if (status !== "busy") return
      await sleep(retryMs, undefined, { signal: this.#signal })
    }
  }

  /** Asks until somebody answers. */
  async #json<T>(method: string, path: string, body?: unknown): Promise<T> {
    for (;;) {
      const reply = await this.#send<T>(method, path, body)
      if (reply) return reply
      await sleep(retryMs, undefined, { signal: this.#signal })
    }
  }

  /**
   * @returns undefined when the server went away, or said that it is not the moment
   * @throws Error  on any other answer: nothing here is anybody's mistake
   */
  async #send<T>(method: string, path: string, body?: unknown): Promise<T | undefined> {
    try {
      const headers = { "content-type": "application/json" }
      const init = { method, headers, signal: this.#signal, ...(body !== undefined && { body: JSON.stringify(body) }) }
      const response = await fetch(`${this.url()}${path}`, init)
      const text = await response.text()
      // What is only accepted has no body.
      if (response.ok) return (text === "" ? {} : JSON.parse(text)) as T
      if (isNotNow(response)) return undefined
      throw new UnexpectedAnswer(`${method} ${path} answered ${response.status}: ${text}`)
    } catch (error) {
      if (error instanceof UnexpectedAnswer || this.#signal.aborted) throw error
      return undefined
    }
  }
}
