/**
 * The one way to answer a request that may take long. Proxies close a connection that is silent for some time, so the client
 * gets a byte at least every few seconds (decisions, agent server 18; docs/decisions/0062).
 *
 * L1  Until the head must be sent, an answer keeps its own status: errors that are known soon are ordinary errors.
 * L2  The head is sent after two periods, then white space each period. The result follows as one JSON document.
 * L3  An error after the head is reported in the body: `{"__error__": {"error", "message"}}` (agent-server-api §6.5). The body then breaks
 *     off: most clients look only at the status, and must not take what failed for done. On HTTP/1.0, as nginx speaks it unless it is told
 *     otherwise, the end of the connection is the end of the body: there such an answer waits in silence for its status.
 * L4  The work goes on when its client disconnects, unless its own code cancels it.
 */

import type { IncomingMessage } from "node:http"
import { setImmediate } from "node:timers/promises"
import type { Context, MiddlewareHandler } from "hono"
import { Refused } from "../errors/errors.js"
import type { Reply } from "./errors.js"
import { toJsonText } from "./json.js"

// Less than 15 s, and as the SDKs' idle watchdogs expect (decisions, agent server 4).
export const defaultKeepAliveMs = 5_000

/** Headers of each answer that sends bytes while it waits, besides its content type. */
export const longAnswerHeaders = {
  // A proxy that compressed the answer would collect its bytes first.
  "cache-control": "no-cache, no-transform",
  // nginx then passes each byte on at once.
  "x-accel-buffering": "no",
} as const

/**
 * A comment of an event stream, which clients ignore. The empty line after it is needed: without it, a parser that reads block by block
 * would drop the next event. The SDKs' decoders (JS up to 1.12 and 2.0) return an event without a name for it.
 */
export const heartbeat = ": heartbeat\n\n"

export interface LongAnswers {
  /** How often a byte is sent, in milliseconds. */
  readonly everyMs: number
  /** Logs an error that comes after the head, and renders it. */
  readonly replyTo: (error: Error, c: Context) => Reply
}

declare module "hono" {
  interface ContextVariableMap {
    longAnswers: LongAnswers
  }
}

/** Makes the settings of long answers known to every route. */
export const longAnswers =
  (settings: LongAnswers): MiddlewareHandler =>
  async (c, next) => {
    c.set("longAnswers", settings)
    await next()
  }

/** How often a long answer sends a byte, in milliseconds. */
export const keepAliveMs = (c: Context): number => c.get("longAnswers")?.everyMs ?? defaultKeepAliveMs

/** How an answer looks once its head is sent. */
export interface LongForm {
  /** The content type. */
  readonly type: string
  /** What is sent during silence, after the n-th period. It changes nothing for the client. */
  readonly filler: (n: number) => string
  /** Renders the document. */
  readonly frame: (json: string) => string
  /** Renders an error. */
  readonly error: (reply: Reply) => unknown
  /** Whether clients see from the document alone that it is an error. If not, the body breaks off after it (L3). */
  readonly isErrorSeen: boolean
}

/** JSON with white space before it. */
export const longJson: LongForm = {
  type: "application/json",
  filler: () => "\n",
  frame: (json) => json,
  error: ({ body: { code, detail } }) => ({
    __error__: { error: code ?? "error", message: typeof detail === "string" ? detail : toJsonText(detail) },
  }),
  isErrorSeen: false,
}

/** Does work, and answers in a long form when it is not ready within two periods (L1 to L4). */
export async function longAnswer(c: Context, work: () => Promise<Response>, form = longJson): Promise<Response> {
  const working = work()
  if (!form.isErrorSeen && endsWithConnection(c)) return working
  let timer: NodeJS.Timeout | undefined
  const headIsDue = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), 2 * keepAliveMs(c))
  })
  const soon = await Promise.race([working, headIsDue]).finally(() => clearTimeout(timer))
  if (soon) return soon
  const ended = working.then(textOf).then(
    (json) => ({ json, isBroken: false }),
    (error: Error) => ({ json: toJsonText(form.error(replyTo(c, error))), isBroken: !form.isErrorSeen }),
  )
  return keptAlive(c, { ...form, isLate: true }, document(ended, form))
}

/** Whether a body that breaks off looks whole to the client: it, or a proxy on its way here, speaks HTTP/1.0. */
function endsWithConnection(c: Context): boolean {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  const onTheWay = c.req.header("via")?.split(",") ?? []
  return incoming?.httpVersion === "1.0" || onTheWay.some((hop) => hop.trim().startsWith("1.0 "))
}

/** Answers with an event stream, with a comment whenever it is silent for a period. */
export const longEventStream = (c: Context, events: AsyncIterable<string>): Response =>
  keptAlive(c, { type: "text/event-stream", filler: () => heartbeat, isLate: false }, events)

interface Ended {
  readonly json: string
  readonly isBroken: boolean
}

async function* document(ended: Promise<Ended>, { frame }: LongForm): AsyncGenerator<string> {
  const { json, isBroken } = await ended
  yield frame(json)
  if (!isBroken) return
  // Bytes that were written leave the process at the end of this turn; a connection that is closed in it would drop them.
  await setImmediate()
  throw new Error("an answer failed after its head was sent: its connection is closed (the reason was logged)")
}

function replyTo(c: Context, error: Error): Reply {
  const settings = c.get("longAnswers")
  if (!settings) throw error
  return settings.replyTo(error, c)
}

/** A response without a body, such as 204, becomes `null`: clients parse the body of a 200. */
async function textOf(response: Response): Promise<string> {
  const text = await response.text()
  if (!response.ok) throw new Refused(text)
  return text === "" ? "null" : text
}

// A client that reads nothing gets no more fillers than this: they would only collect here.
const maxUnread = 100

interface KeptAlive extends Pick<LongForm, "type" | "filler"> {
  /** Whether the client has already waited: it gets a byte, and with it the head, at once. */
  readonly isLate: boolean
}

function keptAlive(c: Context, { type, filler, isLate }: KeptAlive, parts: AsyncIterable<string>): Response {
  const encoder = new TextEncoder()
  const source = parts[Symbol.asyncIterator]()
  let silence: NodeJS.Timeout | undefined
  let n = 0
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const fill = () => controller.enqueue(encoder.encode(filler(n++)))
      if (isLate) fill()
      silence = setInterval(() => {
        if ((controller.desiredSize ?? 0) > -maxUnread) fill()
      }, keepAliveMs(c))
    },
    async pull(controller) {
      try {
        const { value, done } = await source.next()
        if (!done) {
          silence?.refresh()
          return controller.enqueue(encoder.encode(value))
        }
        clearInterval(silence)
        controller.close()
      } catch (error) {
        clearInterval(silence)
        controller.error(error)
      }
    },
    cancel() {
      clearInterval(silence)
    },
  })
  return new Response(body, { headers: { "content-type": type, ...longAnswerHeaders } })
}
