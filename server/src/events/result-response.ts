/**
 * A subscriber that is an HTTP client waiting for a run's result: one JSON document, sent once the run is over. A failed run is reported
 * in the body, since the status 200 was already sent (agent-server-api §6.5).
 */
import type { ServerResponse } from "node:http"
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response"
import { keepAliveMs, longAnswerHeaders } from "@superstep/toolkit/http/long-answer"
import { onceClosed } from "@superstep/toolkit/http/once-closed"
import { replyHeaders } from "@superstep/toolkit/http/reply-headers"
import type { Context } from "hono"
import { AwaitedEnd } from "./awaited-end.js"

// White space before a JSON document (agent-server-api §6.5).
const filler = "\n"

export class ResultResponse extends AwaitedEnd {
  #hasLeft = false

  /**
   * Sends the headers, and the result when the run is over.
   * @param find     reads the result of a run whose end came without one: it had ended before, or ended elsewhere
   * @param onLeave  called once when the client disconnects before the end
   */
  respond(c: Context, headers: Readonly<Record<string, string>>, { find, onLeave }: ResultSource): Response {
    const { outgoing } = c.env as { outgoing: ServerResponse }
    outgoing.writeHead(200, {
      ...replyHeaders(c),
      "content-type": "application/json",
      ...longAnswerHeaders,
      ...headers,
    })
    // The headers tell a client that loses its connection where to wait again.
    outgoing.flushHeaders()
    const alive = setInterval(() => outgoing.write(filler), keepAliveMs(c))
    alive.unref()
    const closed = () => {
      clearInterval(alive)
      this.#hasLeft = true
      // When our side breaks off, the client did not leave, so its run goes on.
      if (!this.isOver) onLeave()
    }
    onceClosed(outgoing, closed)
    void this.over.then(() => this.#send(outgoing, find, alive))
    return RESPONSE_ALREADY_SENT
  }

  async #send(outgoing: ServerResponse, find: () => Promise<string>, alive: NodeJS.Timeout): Promise<void> {
    if (this.#hasLeft) return
    try {
      // Without an end event only this server has stopped. A truncated response makes the client ask again.
      if (!this.hasEnd) throw new Error("the stream was closed before the run's end")
      const result = this.result ?? (await find())
      // A client may take long to read the result, and nothing may be written after it.
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
