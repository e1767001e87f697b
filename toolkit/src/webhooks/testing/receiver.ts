/** A receiver of webhooks: a real HTTP server that records its requests and answers as the test says. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { portServer } from "../../testing/http-server.js"

export interface ReceivedCall {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: what a payload holds is what each test asserts
  readonly json: any
}

export interface Receiver extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly calls: ReceivedCall[]
}

/** @param answer  gets the number of the call, from 1; by default it accepts every call */
export async function startReceiver(
  answer: (reply: ServerResponse, n: number) => void = (reply) => reply.end("thanks"),
): Promise<Receiver> {
  const calls: ReceivedCall[] = []
  const server = await portServer(async (request, reply) => {
    const body = await text(request)
    const { method = "", url: path = "", headers } = request
    calls.push({ method, path, headers, body, json: body === "" ? undefined : JSON.parse(body) })
    answer(reply, calls.length)
  })
  return { ...server, url: `${server.origin}/hook`, calls }
}
