/** A receiver of webhooks: a real HTTP server that records its requests and answers as the test says. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

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
  const server = createServer((request, reply) => {
    void text(request).then((body) => {
      const { method = "", url: path = "", headers } = request
      calls.push({ method, path, headers, body, json: body === "" ? undefined : JSON.parse(body) })
      answer(reply, calls.length)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${port}/hook`, port, calls, [Symbol.asyncDispose]: stop }
}
