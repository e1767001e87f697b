/** A subscriber that is an HTTP client which waits for a run's result: one JSON document, once the run is over. */
import type { ServerResponse } from "node:http"
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import type { Context } from "hono"
import { dataOf, type EncodedEvent, resultEvent } from "./event.js"
import type { Subscriber } from "./run-stream.js"

// A line feed before a JSON document is white space; it keeps proxies and watchdogs content (agent-server-api §6.5).
const usualKeepAliveMs = 5_000
const keepAlive = "\n"

export class ResultResponse implements Subscriber {
  readonly #keepAliveMs: number
  readonly #over: Promise<void>
  #end: () => void = () => undefined
  #result: string | undefined
  #hasEnd = false
  #isOver = false
  #hasLeft = false

  /** @param keepAliveMs  after how long of waiting the client is sent white space, in milliseconds */
  constructor(keepAliveMs = usualKeepAliveMs) {
    this.#keepAliveMs = keepAliveMs
    this.#over = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  accepts(event: string): boolean {
    return event === resultEvent || event === "error" || event === "end"
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    for (const event of events) {
      if (event.event === "end") this.#hasEnd = true
      else this.#result = textOf(event)
    }
  }

  end(): void {
    this.#isOver = true
    this.#end()
  }

  /**
   * Sends the headers, and the result when the run is over.
   * @param find     gives the result of a run whose end told none: it had ended before, or ended elsewhere
   * @param onLeave  called once when the client goes away before the end
   */
  respond(c: Context, headers: Readonly<Record<string, string>>, { find, onLeave }: ResultSource): Response {
    const { outgoing } = c.env as { outgoing: ServerResponse }
    outgoing.writeHead(200, {
      ...Object.fromEntries(c.res.headers),
      "content-type": "application/json",
      "cache-control": "no-cache",
      ...headers,
    })
    // A client that loses its connection finds in them where to wait on.
    outgoing.flushHeaders()
    const alive = setInterval(() => outgoing.write(keepAlive), this.#keepAliveMs)
    alive.unref()
    const closed = () => {
      clearInterval(alive)
      this.#hasLeft = true
      // What breaks off on our side is no client that leaves: its run goes on.
      if (!this.#isOver) onLeave()
    }
    // The client may have gone while its run was being created.
    if (outgoing.closed) closed()
    else outgoing.once("close", closed)
    void this.#over.then(() => this.#send(outgoing, find, alive))
    return RESPONSE_ALREADY_SENT
  }

  async #send(outgoing: ServerResponse, find: () => Promise<string>, alive: NodeJS.Timeout): Promise<void> {
    if (this.#hasLeft) return
    try {
      // Without an end this server has only stopped following: half an answer tells the client to ask again.
      if (!this.#hasEnd) throw new Error("the stream was closed before the run's end")
      const result = this.#result ?? (await find())
      // A client may take long to read it, and nothing may be written behind it.
      clearInterval(alive)
      outgoing.end(result)
    } catch (error) {
      outgoing.destroy(error as Error)
    }
  }
}

export interface ResultSource {
  readonly find: () => Promise<string>
  readonly onLeave: () => void
}

/** A failure keeps the status 200, which was sent long ago (agent-server-api §6.5). */
const textOf = (event: EncodedEvent): string => {
  const data = dataOf(event).toString("utf8")
  return event.event === "error" ? `{"__error__":${data}}` : data
}
