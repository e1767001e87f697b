/** A subscriber that is an HTTP client: `text/event-stream` written to the raw response. */
import type { ServerResponse } from "node:http"
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import type { Context } from "hono"
import { heartbeat } from "./event.js"
import { eventFilter, type Wanted } from "./event-filter.js"
import type { Subscriber } from "./run-stream.js"

// Every 5 s of silence, as the SDKs' idle watchdogs expect (decisions, agent server 4).
const heartbeatMs = 5_000

// What is sent of the past waits while this much is still on its way.
const mostSentAheadBytes = 1024 * 1024

// A reader this far behind would hold the server's memory; it is cut and may join again.
const mostBufferedBytes = 16 * 1024 * 1024

/**
 * Collects events from the moment it is made and sends them once `respond` is called, so that a client can subscribe
 * before its run exists and still get an ordinary HTTP error when the run cannot be made.
 */
export class EventResponse implements Subscriber {
  readonly #outgoing: ServerResponse
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
  #hasEnded = false

  constructor(c: Context, wanted: Wanted = {}) {
    this.#outgoing = (c.env as { outgoing: ServerResponse }).outgoing
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
    if (this.#outgoing.writableLength > mostBufferedBytes) {
      this.#outgoing.destroy(new Error("the client reads too slowly"))
      return
    }
    this.#outgoing.write(bytes)
    this.#heartbeat.refresh()
  }

  drained(): Promise<void> | undefined {
    if (this.#early) {
      if (this.#earlyBytes < mostSentAheadBytes) return undefined
      this.#begin()
      return this.#begun.then(() => this.drained())
    }
    if (this.#outgoing.closed || this.#outgoing.writableLength < mostSentAheadBytes) return undefined
    return new Promise((resolve) => {
      const go = () => {
        this.#outgoing.off("drain", go).off("close", go)
        resolve()
      }
      this.#outgoing.once("drain", go).once("close", go)
    })
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
    const left = () => {
      clearTimeout(this.#heartbeat)
      if (!this.#hasEnded) onLeave()
    }
    // The client may have gone while its run was being created.
    if (this.#outgoing.closed) left()
    else this.#outgoing.once("close", left)
    if (this.#hasEnded) this.#outgoing.end()
    this.#onBegun()
    return RESPONSE_ALREADY_SENT
  }

  #beat(): void {
    this.write(heartbeat)
    this.#heartbeat.refresh()
  }
}
