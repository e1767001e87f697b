/** Reads `text/event-stream`: the page sends headers with its request, which the browser's EventSource cannot. */
export interface ServerEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Yields the events of a body; a last one that was cut off is left out. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader()
  let rest = ""
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const parts = (rest + value).split(/\r?\n\r?\n/)
      rest = parts.pop() ?? ""
      for (const part of parts) {
        const event = eventOf(part)
        if (event) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** @returns  undefined for comments, such as heartbeats */
function eventOf(text: string): ServerEvent | undefined {
  const fields = text.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/.exec(line))
  const values = (name: string) => fields.flatMap((match) => (match?.[1] === name ? [match[2] ?? ""] : []))
  const data = values("data")
  if (data.length === 0) return undefined
  return { id: values("id").at(-1) ?? "", event: values("event").at(-1) ?? "message", data: data.join("\n") }
}
