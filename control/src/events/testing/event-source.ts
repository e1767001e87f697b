/** A client of server-sent events for tests: the received events, and the server's answer. */

export interface ReceivedEvent {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what came, whatever its type
  readonly data: any
}

export interface EventSource {
  readonly status: number
  readonly contentType: string | null
  readonly events: ReceivedEvent[]
  /** True when the server has ended the stream. */
  readonly hasEnded: boolean
  close(): void
}

export async function openEvents(url: string, headers: Record<string, string>): Promise<EventSource> {
  const leaving = new AbortController()
  const reply = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: leaving.signal })
  const events: ReceivedEvent[] = []
  let hasEnded = false
  const read = async () => {
    let text = ""
    const decoder = new TextDecoder()
    for await (const chunk of reply.body ?? []) {
      const blocks = (text + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n")
      text = blocks.pop() ?? ""
      events.push(...blocks.flatMap(parsed))
    }
  }
  void read().then(
    () => {
      hasEnded = true
    },
    // It was cut, by us or by the server's death: tests check the received events.
    () => {
      hasEnded = true
    },
  )
  return {
    status: reply.status,
    contentType: reply.headers.get("content-type"),
    events,
    get hasEnded() {
      return hasEnded
    },
    close: () => leaving.abort(),
  }
}

function parsed(block: string): ReceivedEvent[] {
  const field = (name: string) =>
    block
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  const data = field("data")
  return data === undefined ? [] : [{ id: field("id") ?? "", event: field("event") ?? "", data: JSON.parse(data) }]
}
