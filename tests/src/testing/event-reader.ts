/** A client that reads `text/event-stream` from a socket of its own, and can stop reading without leaving. */
import { type IncomingMessage, request } from "node:http"
import type { AgentServerProcess } from "./agent-servers.js"

export interface ReadEvent {
  readonly id: number
  readonly event: string
  /** Unparsed, since most of a flood is of no interest. */
  readonly data: string
}

/** The server that is read from, and what each request to it must carry. */
export type EventServer = Pick<AgentServerProcess, "url"> & Partial<Pick<AgentServerProcess, "headers">>

export interface OpenedStream {
  readonly path: string
  /** Makes it a POST. */
  readonly body?: object
  readonly lastEventId?: number
  /** Called for each event; without it they are kept in `events`. */
  readonly onEvent?: (event: ReadEvent) => void
  /** Begins without reading. */
  readonly paused?: boolean
}

export class EventReader {
  readonly events: ReadEvent[] = []
  /** How it was over: the server ended it, or it was cut. */
  readonly over: Promise<"ended" | "cut">
  readonly #response: IncomingMessage
  #lastId = -1
  #rest = ""

  private constructor(response: IncomingMessage, { onEvent, paused }: OpenedStream) {
    this.#response = response
    const take = onEvent ?? ((event) => void this.events.push(event))
    response.setEncoding("utf8")
    response.on("data", (text: string) => this.#read(text, take))
    if (paused) response.pause()
    this.over = new Promise((resolve) => {
      response.once("end", () => resolve("ended"))
      response.once("error", () => resolve("cut"))
      response.once("close", () => resolve("cut"))
    })
  }

  /** @throws Error  with the reply's status and text when it is no stream */
  static async open(server: EventServer, stream: OpenedStream): Promise<EventReader> {
    const { path, body, lastEventId } = stream
    const headers = {
      ...server.headers,
      ...(body && { "content-type": "application/json" }),
      ...(lastEventId !== undefined && { "last-event-id": String(lastEventId) }),
    }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // No agent: the connection ends with the stream.
      const call = request(server.url + path, { method: body ? "POST" : "GET", headers, agent: false }, resolve)
      call.once("error", reject)
      call.end(body && JSON.stringify(body))
    })
    if (response.statusCode === 200) return new EventReader(response, stream)
    const text = (await response.setEncoding("utf8").toArray()).join("")
    throw new Error(`${path} answered ${response.statusCode}: ${text}`)
  }

  /** The run and its thread, as the reply's headers name them. */
  get location(): string {
    return String(this.#response.headers["content-location"])
  }

  /** Id of the last event that was read whole; -1 before the first. */
  get lastId(): number {
    return this.#lastId
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  /** Goes away without a word. */
  leave(): void {
    this.#response.destroy()
  }

  #read(text: string, take: (event: ReadEvent) => void): void {
    const blocks = (this.#rest + text).split("\n\n")
    this.#rest = blocks.pop() ?? ""
    for (const block of blocks) {
      if (block.startsWith(":")) continue
      // Not by an expression over the whole block: a reader that is slow at large events is cut.
      const lines = block.split("\n")
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ""
      this.#lastId = Number(field("id"))
      take({ id: this.#lastId, event: field("event"), data: field("data") })
    }
  }
}
