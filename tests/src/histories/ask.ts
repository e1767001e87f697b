/** One request of a client that records: its reply, or that there is none. */
import type { Outcome, Value } from "./call.js"
import { withMarkedNumbers, withPlainNumbers } from "./numbers.js"

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: what a reply holds is what each call reads of it
  readonly body: any
  /** The id of the run that was created. */
  readonly location?: string
}

/** `lost`: it may have taken effect. `not sent`: no server was there. */
export type Reply = Answer | "lost" | "not sent"

export const isLost = (reply: Reply): reply is "lost" | "not sent" => typeof reply === "string"

export interface Request {
  readonly method: string
  readonly path: string
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

// Longer than a lease and a restart; a paused server keeps its clients waiting.
const timeoutMs = 60_000

/** A 503 with `retry-after` is lost too: Postgres may have gone between the commit and its reply. */
export async function ask(url: string, request: Request): Promise<Reply> {
  try {
    const response = await send(url, request)
    const text = await response.text()
    return answerOf(response, text === "" ? {} : JSON.parse(withMarkedNumbers(text)))
  } catch (error) {
    return lossOf(error)
  }
}

/** Creates a run and reads its stream. @returns `ended`: whether the stream came to its end */
export async function follow(
  url: string,
  request: Omit<Request, "method">,
): Promise<{ readonly reply: Reply; readonly ended: Promise<boolean> }> {
  try {
    const response = await send(url, { method: "POST", ...request })
    if (response.ok) return { reply: answerOf(response, {}), ended: readToEnd(response) }
    return { reply: answerOf(response, await response.json()), ended: Promise.resolve(false) }
  } catch (error) {
    return { reply: lossOf(error), ended: Promise.resolve(false) }
  }
}

function send(url: string, { method, path, body, headers }: Request): Promise<Response> {
  return fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    signal: AbortSignal.timeout(timeoutMs),
    ...(body && { body: withPlainNumbers(JSON.stringify(body)) }),
  })
}

function answerOf({ status, headers }: Response, body: unknown): Reply {
  if (status === 503 && headers.has("retry-after")) return "lost"
  const location = headers.get("content-location")?.split("/runs/").at(-1)?.split("/")[0]
  return { status, body, ...(location !== undefined && { location }) }
}

function lossOf(error: unknown): Reply {
  const { cause } = error as { cause?: { code?: string } }
  return cause?.code === "ECONNREFUSED" ? "not sent" : "lost"
}

export function outcomeOf(reply: Reply): Outcome {
  if (isLost(reply)) return { is: "unknown" }
  return reply.status < 300 ? { is: "ok" } : refusal(reply)
}

export function refusal({ status, body }: Answer): Outcome {
  return { is: "refused", status, ...(status >= 500 && { why: String(body.detail) }) }
}

export const withValue = (reply: Answer, value: Value | undefined): Outcome =>
  reply.status === 200 ? { is: "ok", ...(value && { value }) } : refusal(reply)

async function readToEnd(response: Response): Promise<boolean> {
  let text = ""
  try {
    const decoder = new TextDecoder()
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
    return /^event: end$/m.test(text)
  } catch {
    // It was cut: what it would have said is not known.
    return false
  }
}
