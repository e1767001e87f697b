/**
 * A client of a resumable run as a browser is one: raw server-sent events over `fetch`. Whenever its connection ends
 * before the run's end, it asks a server that lives for everything after the last id that it has.
 */
import { setTimeout as sleep } from "node:timers/promises"

export interface ReceivedEvent {
  readonly id: number
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what an event holds is what each test asserts
  readonly data: any
}

export interface Address {
  readonly threadId: string
  readonly runId: string
}

/** An answer that is nobody's mistake here and nobody's death: a promise is broken. A 404 of a server that starts is one. */
export class UnexpectedAnswer extends Error {}

/** Whether a server said that it is not the moment, which clients are to expect while things die. */
export const isNotNow = ({ status, headers }: Response): boolean => status === 503 && headers.has("retry-after")

// Long enough not to flood a server that is just starting, short enough to be back before the next kill.
const reconnectMs = 20

export class EventClient {
  readonly events: ReceivedEvent[] = []
  /** How often it had to connect. */
  connections = 0
  readonly #url: () => string
  readonly #signal: AbortSignal
  readonly #headers: Readonly<Record<string, string>>
  /** Ends the connection of this moment. */
  #connection = new AbortController()

  /** @param url  the server to ask at this moment @param signal  ends its patience @param headers  of each request */
  constructor(url: () => string, signal: AbortSignal, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url
    this.#signal = signal
    this.#headers = headers
  }

  get hasEnded(): boolean {
    return this.events.at(-1)?.event === "end"
  }

  /** Cuts the connection of this moment, as a network does. */
  disconnect(): void {
    this.#connection.abort()
  }

  /**
   * Creates a run and reads on until its end, over as many connections as it takes.
   * @param onAcknowledged  called once the server has answered; never when the request failed
   * @throws UnexpectedAnswer  any other answer than that it is not the moment, which is an ordinary error
   */
  async create(threadId: string, body: object, onAcknowledged: (address: Address) => void): Promise<void> {
    const url = `${this.#url()}/threads/${threadId}/runs/stream`
    const headers = { ...this.#headers, "content-type": "application/json" }
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal: this.#connect() })
    if (isNotNow(response)) throw new Error(`not now: ${await response.text()}`)
    if (!response.ok) throw new UnexpectedAnswer(`POST ${url} answered ${response.status}: ${await response.text()}`)
    const runId = response.headers.get("content-location")?.split("/").at(-1)
    if (runId === undefined) throw new UnexpectedAnswer(`POST ${url}: the reply names no run`)
    onAcknowledged({ threadId, runId })
    await this.#read(response)
    await this.follow({ threadId, runId })
  }

  /** Reads a run until its end, from the beginning unless something was received before. */
  async follow({ threadId, runId }: Address): Promise<void> {
    while (!this.hasEnded) {
      const last = this.events.at(-1)?.id ?? -1
      const url = `${this.#url()}/threads/${threadId}/runs/${runId}/stream`
      const headers = { ...this.#headers, "last-event-id": String(last) }
      const response = await fetch(url, { headers, signal: this.#connect() }).catch(orGone(this.#signal))
      if (response?.ok) await this.#read(response)
      else if (response && !isNotNow(response))
        throw new UnexpectedAnswer(`GET ${url} answered ${response.status}: ${await response.text()}`)
      else await response?.body?.cancel()
      if (!this.hasEnded) await sleep(reconnectMs, undefined, { signal: this.#signal })
    }
  }

  #connect(): AbortSignal {
    this.#connection = new AbortController()
    return AbortSignal.any([this.#signal, this.#connection.signal])
  }

  async #read(response: Response): Promise<void> {
    this.connections++
    const decoder = new TextDecoder()
    let rest = ""
    try {
      for await (const bytes of response.body ?? []) {
        const blocks = (rest + decoder.decode(bytes, { stream: true })).split("\n\n")
        rest = blocks.pop() ?? ""
        this.events.push(...blocks.flatMap(parse))
      }
    } catch (error) {
      orGone(this.#signal)(error)
    }
  }
}

/** A connection that broke is what this client is for; only an end of its patience is an error. */
const orGone =
  (signal: AbortSignal) =>
  (error: unknown): undefined => {
    if (signal.aborted) throw error
  }

function parse(block: string): ReceivedEvent[] {
  const field = (name: string) =>
    block
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  const event = field("event")
  return event === undefined ? [] : [{ id: Number(field("id")), event, data: JSON.parse(field("data") ?? "null") }]
}
