/**
 * A subscriber that is an HTTP client: `text/event-stream` written to the raw response.
 *
 * It takes whatever it is given, and says by `drained` when its client is behind: then it is given nothing more until the
 * client has read (run-stream.ts, S6). A client that reads nothing at all for a while is disconnected.
 */
import type { ServerResponse } from "node:http"
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import type { Context } from "hono"
import { heartbeat } from "./event.js"
import { eventFilter, type Wanted } from "./event-filter.js"
import type { ReaderBudget } from "./reader-budget.js"
import type { Subscriber } from "./run-stream.js"

// Every 5 s of silence, as the SDKs' idle watchdogs expect (decisions, agent server 4).
const heartbeatMs = 5_000

// A connection on which nothing has moved for so long is taken for dead; it holds memory, and its place in a log.
const usualStalledMs = 60_000

export interface EventResponseOptions {
  readonly budget: ReaderBudget
  /** How long a client may read nothing of what waits for it, in milliseconds. */
  readonly stalledMs?: number
}

/**
 * Collects events from the moment it is made and sends them once `respond` is called, so that a client can subscribe
 * before its run exists and still get an ordinary HTTP error when the run cannot be made.
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
  /** Resolves when so much is there that the reply should begin before the rest of the past is read. */
  readonly hasPlenty = new Promise<void>((resolve) => {
    this.#begin = resolve
  })
  #draining: Promise<void> | undefined
  #hasEnded = false

  constructor(c: Context, wanted: Wanted, { budget, stalledMs = usualStalledMs }: EventResponseOptions) {
    this.#outgoing = (c.env as { outgoing: ServerResponse }).outgoing
    this.#budget = budget
    this.#stalledMs = stalledMs
    this.#leaveBudget = budget.enter()
    this.accepts = eventFilter(wanted)
    this.#heartbeat = setTimeout(() => this.#beat(), heartbeatMs)
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

  /** The rest cannot be sent: the client sees a broken stream, and may come back. */
  break(reason: Error): void {
    // It is not the client that leaves: its run goes on.
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
   * Sends the headers and what has come so far; from now on events go out as they come.
   * @param onLeave  called once when the client goes away before the end
   */
  respond(c: Context, headers: Readonly<Record<string, string>>, onLeave: () => void): Response {
    const early = this.#early ?? []
    this.#early = undefined
    this.#outgoing.writeHead(200, {
      ...Object.fromEntries(c.res.headers),
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      ...headers,
    })
    // Nagle would hold a small event back until the last one was acknowledged.
    this.#outgoing.socket?.setNoDelay(true)
    if (early.length > 0) this.#outgoing.write(Buffer.concat(early))
    else this.#outgoing.flushHeaders()
    // Node measures what the connection has taken, and heartbeats do not count while it takes nothing.
    this.#outgoing.setTimeout(this.#stalledMs, () =>
      this.#outgoing.destroy(new Error("the client has stopped reading")),
    )
    const left = () => {
      clearTimeout(this.#heartbeat)
      this.#leaveBudget()
      if (!this.#hasEnded) onLeave()
    }
    // The client may have gone while its run was being created.
    if (this.#outgoing.closed) left()
    else this.#outgoing.once("close", left)
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
    this.write(heartbeat)
    this.#heartbeat.refresh()
  }
}
