/** How bytes of the database travel as payload lines (protocol/worker, "checkpoints"). */

const newline = 0x0a

/** The bytes behind a payload line; null for an empty channel. */
export function fromLine(type: string, line: Buffer): Buffer | null {
  if (type === "json") return line
  if (type === "empty") return null
  return Buffer.from(line.toString("latin1"), "base64")
}

/** The payload line for bytes of the database. */
export function toLine(type: string, bytes: Buffer | null): string | Buffer {
  if (bytes === null || type === "empty") return ""
  if (type !== "json") return bytes.toString("base64")
  return bytes.includes(newline) ? onOneLine(bytes) : bytes
}

// Another tool may have saved indented JSON. A text inside JSON never holds a raw line break, so each is white space.
const onOneLine = (json: Buffer): string => json.toString("utf8").replaceAll("\n", " ")
