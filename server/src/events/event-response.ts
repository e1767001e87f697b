/**
 * A subscriber that is an HTTP client: `text/event-stream` written to the raw response.
 *
 * It accepts every write. `drained` returns a promise while its client is behind; the topic then sends nothing more until
 * the client has read (topic.ts, S6). A client that reads nothing at all for `stalledMs` is disconnected.
 */

import type { ServerResponse } from "node:http"
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import { heartbeat, keepAliveMs, longAnswerHeaders } from "@superstep/toolkit/http/long-answer"
import { onceClosed } from "@superstep/toolkit/http/once-closed"
import { replyHeaders } from "@superstep/toolkit/http/reply-headers"
import type { Context } from "hono"
import type { ReaderBudget } from "./reader-budget.js"
import type { Subscriber } from "./topic.js"

const heartbeatBytes = Buffer.from(heartbeat)

// A connection that has transferred nothing for this long counts as dead; it holds memory, and its place in a log.
const defaultStalledMs = 60_000

export interface EventResponseOptions {
  readonly budget: ReaderBudget
  /** How long a client may leave waiting bytes unread, in milliseconds. */
  readonly stalledMs?: number
}

/**
 * Collects events from its construction on and sends them once `respond` is called. So a client can subscribe before its
 * run exists, and still gets an ordinary HTTP error when the run cannot be created.
 */
export class EventResponse implements Subscriber {
  readonly #outgoing: ServerResponse
  readonly #budget: ReaderBudget
  readonly #stalledMs: number
  readonly #leaveBudget: () => void
  readonly accepts: (event: string) => boolean
  readonly #heartbeat: NodeJS.Timeout
  #early: Buffer[] | undefined = []
  #earlyBytes = 0
  #begin: () => void = () => undefined
  #onBegun: () => void = () => undefined
  readonly #begun = new Promise<void>((resolve) => {
    this.#onBegun = resolve
  })
  /** Resolves when enough bytes are collected that the response should start before the rest of the past is read. */
  readonly hasPlenty = new Promise<void>((resolve) => {
    this.#begin = resolve
  })
  #draining: Promise<void> | undefined
  #hasEnded = false

  /** @param accepts  whether the client wants events of this name */
  constructor(
    c: Context,
    accepts: (event: string) => boolean,
    { budget, stalledMs = defaultStalledMs }: EventResponseOptions,
  ) {
    this.#outgoing = (c.env as { outgoing: ServerResponse }).outgoing
    this.#budget = budget
    this.#stalledMs = stalledMs
    this.#leaveBudget = budget.enter()
    this.accepts = accepts
    this.#heartbeat = setTimeout(() => this.#beat(), keepAliveMs(c))
    this.#heartbeat.unref()
  }

  write(bytes: Buffer): void {
    if (this.#early) {
      this.#early.push(bytes)
      this.#earlyBytes += bytes.length
      return
    }
    this.#outgoing.write(bytes)
    this.#heartbeat.refresh()
  }

  drained(): Promise<void> | undefined {
    if (this.#early) {
      if (this.#earlyBytes < this.#budget.aheadBytes) return undefined
      this.#begin()
      return this.#begun.then(() => this.drained())
    }
    if (this.#outgoing.closed || this.#outgoing.writableLength < this.#budget.aheadBytes) return undefined
    this.#draining ??= this.#untilDrained()
    return this.#draining
  }

  /** Called when the rest cannot be sent: the client sees a broken stream and may reconnect. */
  break(reason: Error): void {
    // The client did not leave, so its run goes on.
    this.#hasEnded = true
    this.#outgoing.destroy(reason)
  }

  end(): void {
    this.#hasEnded = true
    clearTimeout(this.#heartbeat)
    if (!this.#early) this.#outgoing.end()
  }

  /** Gives up before anything was sent. */
  abandon(): void {
    clearTimeout(this.#heartbeat)
    this.#leaveBudget()
  }

  /**
   * Sends the headers and the events collected so far. Later events are sent as they are written.
   * @param onLeave  called once when the client disconnects before the end
   */
  respond(c: Context, headers: Readonly<Record<string, string>>, onLeave: () => void): Response {
    const early = this.#early ?? []
    this.#early = undefined
    this.#outgoing.writeHead(200, {
      ...replyHeaders(c),
      "content-type": "text/event-stream",
      ...longAnswerHeaders,
      ...headers,
    })
    // Nagle's algorithm would delay a small event until the previous one was acknowledged.
    this.#outgoing.socket?.setNoDelay(true)
    if (early.length > 0) this.#outgoing.write(Buffer.concat(early))
    else this.#outgoing.flushHeaders()
    // Node's timeout counts bytes that the connection has accepted, so heartbeats do not reset it while the client reads nothing.
    this.#outgoing.setTimeout(this.#stalledMs, () =>
      this.#outgoing.destroy(new Error("the client has stopped reading")),
    )
    const left = () => {
      clearTimeout(this.#heartbeat)
      this.#leaveBudget()
      if (!this.#hasEnded) onLeave()
    }
    onceClosed(this.#outgoing, left)
    if (this.#hasEnded) this.#outgoing.end()
    this.#onBegun()
    return RESPONSE_ALREADY_SENT
  }

  #untilDrained(): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        this.#outgoing.off("drain", go).off("close", go)
        this.#draining = undefined
        resolve()
      }
      this.#outgoing.once("drain", go).once("close", go)
    })
  }

  #beat(): void {
    this.write(heartbeatBytes)
    this.#heartbeat.refresh()
  }
}

/** Does work that must succeed before the response starts. When it fails, the subscriber is abandoned. */
export async function orAbandon<T>(subscriber: EventResponse, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    subscriber.abandon()
    throw error
  }
}
