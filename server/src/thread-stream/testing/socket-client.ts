/** A client of a thread's WebSocket without an SDK. */
import { until } from "@superstep/toolkit/testing/until"
import { WebSocket } from "ws"
import type { TestHttp } from "../../testing/test-http.js"
import type { CommandReply, ProtocolEventFrame } from "./protocol-client.js"

type Message = ProtocolEventFrame | CommandReply

/** A client that records what it gets. */
export class Client {
  readonly ws: WebSocket
  readonly messages: Message[] = []
  code: number | undefined
  /** The status of a refused handshake. */
  status: number | undefined
  #lastId = 0

  constructor(http: TestHttp, threadId: string, protocols: string[] = [], headers: Record<string, string> = {}) {
    const url = `${http.url.replace("http", "ws")}/threads/${threadId}/stream/events`
    this.ws = new WebSocket(url, protocols, { headers })
    this.ws.on("message", (data) => this.messages.push(JSON.parse(String(data))))
    this.ws.on("close", (code) => {
      this.code = code
    })
    this.ws.on("unexpected-response", (_, response) => {
      this.status = response.statusCode
      this.ws.terminate()
    })
    this.ws.on("error", () => undefined)
  }

  untilOpen = () => until(() => this.ws.readyState === WebSocket.OPEN, { what: "the socket is open" })

  get events(): ProtocolEventFrame[] {
    return this.messages.filter((message): message is ProtocolEventFrame => message.type === "event")
  }

  async command(method: string, params: object = {}): Promise<CommandReply> {
    const id = ++this.#lastId
    this.ws.send(JSON.stringify({ id, method, params }))
    return until(
      () => this.messages.find((message): message is CommandReply => message.type !== "event" && message.id === id),
      { what: `the reply to ${method}` },
    )
  }
}

export async function connect(http: TestHttp, threadId: string, ...more: [string[]?, Record<string, string>?]) {
  const client = new Client(http, threadId, ...more)
  await client.untilOpen()
  return client
}
