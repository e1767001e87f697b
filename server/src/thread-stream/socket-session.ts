/**
 * One client of a thread on a WebSocket (protocol-v2 §1.6): commands in, replies and events out.
 *
 * Commands are executed one after the other, in the order of their arrival. The reply to a subscription is sent before its events. A
 * client that reads slowly reads from the log, so it holds little memory here; one that
 * reads nothing for a minute gets an error frame, then its connection is closed.
 */
import { randomUUID } from "node:crypto"
import type { Socket } from "node:net"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { parseJsonBody } from "@superstep/toolkit/http/body"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { toJsonText } from "@superstep/toolkit/http/json"
import { keepAliveMs } from "@superstep/toolkit/http/long-answer"
import type { Context } from "hono"
import type { RawData, WebSocket } from "ws"
import { callerOf } from "../http/caller-of.js"
import type { RunRoutes } from "../runs/creating-routes.js"
import { getThread } from "../threads/operations.js"
import { channelFilter, isChannel } from "./channel-filter.js"
import { CommandFailed, type Executed, errorReply, parseParams, successReply } from "./command.js"
import { executeCommand, failureOf } from "./commands.js"
import { followThread, replayThread, untilThreadExists } from "./follow.js"
import { reconnected } from "./reconnect.js"
import { type Command, command, subscription, unsubscribe } from "./schema.js"
import { earliest, type Subscription, SubscriptionReader } from "./socket-subscriptions.js"
import { currentPlace, eventsAfter } from "./thread-log.js"

// A client that has not answered a ping after as many periods has vanished without closing the connection.
const pingPeriods = 2
// A connection that has transferred nothing for this long counts as dead.
const stalledMs = 60_000
// A client that closes properly answers at once.
const closeMs = 1_000
// Commands that wait for their turn; then the client is not read until they are executed.
const maxWaiting = 64

/** Codes of WebSocket closes: clients reconnect after all but those from 4400 to 4499. */
const closes = { gone: 4404, restart: 1012, tooSlow: 1013 } as const

export interface SocketClient {
  readonly c: Context
  readonly threadId: string
  readonly ws: WebSocket
  /** The connection below. */
  readonly socket: Socket
}

export class SocketSession {
  readonly #runs: RunRoutes
  readonly #client: SocketClient
  #reader: SubscriptionReader | undefined
  /** They begin when no command waits: others may still come with them, as after a reconnect. */
  #coming = new Map<string, Subscription>()
  readonly #closed = new AbortController()
  readonly #leaveBudget: () => void
  readonly #ping: NodeJS.Timeout
  #isAlive = true
  #waiting = 0
  #last: Promise<void> = Promise.resolve()
  #draining: Promise<void> | undefined

  constructor(runs: RunRoutes, client: SocketClient) {
    this.#runs = runs
    this.#client = client
    this.#leaveBudget = runs.streams.readers.enter()
    const { ws, socket } = client
    this.#ping = setInterval(() => this.#checkAlive(), pingPeriods * keepAliveMs(client.c))
    this.#ping.unref()
    socket.setNoDelay(true)
    socket.setTimeout(stalledMs, () => this.#tooSlow())
    ws.on("message", (data, isBinary) => this.#receive(data, isBinary))
    ws.on("pong", () => {
      this.#isAlive = true
    })
    ws.on("error", (err) => runs.log.debug({ err, thread_id: client.threadId }, "a WebSocket failed"))
    ws.once("close", () => this.#leave())
  }

  /** Closes the connection so that the client reconnects. */
  restart(): void {
    this.#close(closes.restart, "the server stops: reconnect")
  }

  threadGone(): void {
    this.#close(closes.gone, "the thread was deleted")
  }

  sendEvent(json: Buffer): void {
    this.#client.ws.send(json, { binary: false })
  }

  drained(): Promise<void> | undefined {
    const { socket } = this.#client
    if (socket.closed || socket.writableLength < this.#runs.streams.readers.aheadBytes) return undefined
    this.#draining ??= new Promise((resolve) => {
      const go = () => {
        socket.off("drain", go).off("close", go)
        this.#draining = undefined
        resolve()
      }
      socket.once("drain", go).once("close", go)
    })
    return this.#draining
  }

  #send(message: object): void {
    this.#client.ws.send(toJsonText(message))
  }

  #receive(data: RawData, isBinary: boolean): void {
    const { ws } = this.#client
    this.#isAlive = true
    if (++this.#waiting >= maxWaiting) ws.pause()
    this.#last = this.#last
      .then(() => this.#handle(isBinary ? undefined : String(data)))
      .catch((err: unknown) => this.#fail(err))
      .finally(() => {
        if (--this.#waiting < maxWaiting) ws.resume()
        if (this.#waiting === 0) this.#beginSubscriptions()
      })
  }

  async #handle(text: string | undefined): Promise<void> {
    if (this.#closed.signal.aborted) return
    const read = parseCommand(text)
    if ("problem" in read) return this.#send(errorReply(null, "invalid_argument", read.problem))
    await this.drained()
    const { id, method } = read
    const { threadId } = this.#client
    try {
      if (method === "subscription.subscribe") return await this.#subscribe(read)
      this.#send(successReply(id, threadId, await this.#execute(read)))
    } catch (error) {
      const failure = failureOf(error)
      if (!failure) this.#runs.log.error({ err: error, thread_id: threadId, method }, "a command failed")
      this.#send(errorReply(id, failure?.code ?? "unknown_error", failure?.message ?? "internal error"))
    }
  }

  async #execute({ method, params }: Command): Promise<Executed> {
    const { c, threadId } = this.#client
    if (method === "subscription.unsubscribe") return this.#unsubscribe(params)
    if (method === "subscription.reconnect") {
      await getThread(this.#runs.db, callerOf(c), threadId)
      return reconnected(this.#runs.db, threadId, { params, hasSubscription: (id) => this.#hasSubscription(id) })
    }
    return executeCommand(this.#runs, method, { c, threadId, params, bodyText: "" })
  }

  #hasSubscription(id: string): boolean {
    return this.#coming.has(id) || this.#reader?.has(id) === true
  }

  async #unsubscribe(params: unknown): Promise<Executed> {
    const { subscription_id: id } = parseParams(unsubscribe, params)
    if (!this.#hasSubscription(id))
      throw new CommandFailed("no_such_subscription", `This connection has no subscription ${id}.`)
    this.#coming.delete(id)
    this.#reader?.remove(id)
    if (this.#reader?.isEmpty) this.#stopReading()
    const isThere = await this.#isThere()
    return { result: {}, appliedThroughSeq: isThere ? await currentPlace(this.#runs.db, this.#client.threadId) : 0 }
  }

  async #subscribe({ id, params }: Command): Promise<void> {
    const { threadId } = this.#client
    const filter = parseParams(subscription, params)
    if (filter.channels.length === 0)
      throw new CommandFailed("invalid_argument", "subscription.subscribe requires a non-empty channels array.")
    if (!filter.channels.every(isChannel))
      throw new CommandFailed("invalid_argument", "subscription.subscribe received an unsupported channel.")
    const accepts = channelFilter(filter)
    const since = filter.since ?? -1
    const isThere = await this.#isThere()
    // Read before the events are counted, so that it covers only events that are counted.
    const place = isThere ? await currentPlace(this.#runs.db, threadId) : 0
    const result = {
      subscription_id: randomUUID(),
      replayed_events: isThere ? await eventsAfter(this.#runs.db, threadId, { after: since, accepts }) : 0,
    }
    this.#send(successReply(id, threadId, { result, appliedThroughSeq: place }))
    if (this.#closed.signal.aborted) return
    this.#coming.set(result.subscription_id, { accepts, since })
  }

  /** A socket may be older than its thread, so nothing of the log is read without this. @throws  the errors of `followThread` */
  #isThere(): Promise<boolean> {
    const { c, threadId } = this.#client
    return followThread(this.#runs, { caller: callerOf(c), threadId })
  }

  #beginSubscriptions(): void {
    if (this.#coming.size === 0 || this.#closed.signal.aborted) return
    const subscriptions = new Map([...(this.#reader?.release() ?? []), ...this.#coming])
    this.#coming = new Map()
    this.#stopReading()
    const reader = new SubscriptionReader(this, subscriptions)
    this.#reader = reader
    this.#read(reader, earliest(subscriptions)).catch((err: unknown) => this.#fail(err))
  }

  async #read(reader: SubscriptionReader, after: number): Promise<void> {
    const { c, threadId } = this.#client
    const { signal } = this.#closed
    await untilThreadExists(this.#runs, { caller: callerOf(c), threadId }, signal)
    if (signal.aborted || reader !== this.#reader) return
    await replayThread(this.#runs, threadId, { subscriber: reader, after })
  }

  #stopReading(): void {
    const reader = this.#reader
    this.#reader = undefined
    if (reader) this.#runs.streams.protocol.unsubscribe(this.#client.threadId, reader)
  }

  /** The connection cannot go on: its client gets an error frame, and reconnects unless it may not. */
  #fail(error: unknown): void {
    const { threadId } = this.#client
    const failure = failureOf(error)
    this.#runs.log.warn({ err: error, thread_id: threadId }, "a WebSocket could not be continued")
    if (this.#closed.signal.aborted) return
    this.#send(errorReply(null, failure?.code ?? "unknown_error", failure?.message ?? "internal error"))
    if (failure) this.threadGone()
    else this.restart()
  }

  #tooSlow(): void {
    const message = `nothing was read for ${stalledMs / 1000} s: reconnect`
    this.#send(errorReply(null, "unknown_error", message))
    this.#close(closes.tooSlow, message)
  }

  #close(code: number, reason: string): void {
    const { ws } = this.#client
    ws.close(code, reason)
    setTimeout(() => ws.terminate(), closeMs).unref()
  }

  #checkAlive(): void {
    const { ws } = this.#client
    if (this.#isAlive) ws.ping()
    else ws.terminate()
    this.#isAlive = false
  }

  #leave(): void {
    this.#closed.abort()
    clearInterval(this.#ping)
    this.#leaveBudget()
    this.#stopReading()
  }
}

function parseCommand(text: string | undefined): Command | { readonly problem: string } {
  let json: unknown
  try {
    // An empty body is `{}`, but an empty message is no command.
    json = parseJsonBody(text || "no JSON")
  } catch (error) {
    const isJson = error instanceof InvalidInput && error.problems.every(({ type }) => type !== "json_invalid")
    return { problem: isJson ? error.message : "Protocol commands must be valid JSON." }
  }
  const { result: parsed } = checkExact(command, json)
  return parsed.success ? parsed.data : { problem: "Protocol commands must include an integer id and string method." }
}
