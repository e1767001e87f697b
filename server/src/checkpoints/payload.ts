/** Converts between bytes of the database and payload lines (protocol/worker, "checkpoints"). */

const newline = 0x0a

/** The bytes of a payload line; null for an empty channel. */
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

// Another tool may have saved indented JSON. Strings in JSON never contain raw line breaks, so each one is white space.
const onOneLine = (json: Buffer): string => json.toString("utf8").replaceAll("\n", " ")
