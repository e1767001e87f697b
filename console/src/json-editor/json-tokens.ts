/** The parts of a JSON text that have a colour. Pure. */

export interface JsonToken {
  readonly kind: "key" | "text" | "number" | "word" | "plain"
  readonly text: string
}

const parts = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g

/** @param json  as `JSON.stringify` writes it */
export function jsonTokens(json: string): JsonToken[] {
  const tokens: JsonToken[] = []
  let end = 0
  for (const match of json.matchAll(parts)) {
    const [, text, colon, number, word] = match
    if (match.index > end) tokens.push({ kind: "plain", text: json.slice(end, match.index) })
    if (text !== undefined) tokens.push({ kind: colon === undefined ? "text" : "key", text })
    if (colon !== undefined) tokens.push({ kind: "plain", text: colon })
    if (number !== undefined) tokens.push({ kind: "number", text: number })
    if (word !== undefined) tokens.push({ kind: "word", text: word })
    end = match.index + match[0].length
  }
  if (end < json.length) tokens.push({ kind: "plain", text: json.slice(end) })
  return tokens
}
