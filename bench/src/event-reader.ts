/** Parses server-sent events incrementally from the bytes of a response. */
import { StringDecoder } from "node:string_decoder"

export interface StreamedEvent {
  readonly name: string
  /** The text of the data lines; empty without data. */
  readonly data: string
}

export function createEventReader(): (bytes: Buffer) => StreamedEvent[] {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  return (bytes) => {
    const blocks = `${rest}${decoder.write(bytes)}`.split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ""
    return blocks.flatMap(parseBlock)
  }
}

/** A block that contains only comments, such as a heartbeat, gives no event. */
function parseBlock(block: string): StreamedEvent[] {
  let name = "message"
  const data: string[] = []
  let isEvent = false
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ""] = /^(event|data|id): ?(.*)$/.exec(line) ?? []
    if (field) isEvent = true
    if (field === "event") name = value
    if (field === "data") data.push(value)
  }
  return isEvent ? [{ name, data: data.join("\n") }] : []
}
