/**
 * Removes secrets from a text, in every form in which they may be printed. A text is scanned once, whatever the number and
 * length of the secrets. Pure.
 */
import { longestPiece, plainText } from "./clean-lines.js"

// Shorter values ("true", "8000") occur in ordinary words, so hiding them would make logs unreadable.
const minHiddenLength = 6
const hidden = "[secret]"

// The widths at which `base64` and most libraries wrap lines (RFC 2045, RFC 7468).
const wrapColumns = [64, 76]

/** The value itself, its lines, and its forms in base64, URLs, JSON and hexadecimal. */
function formsOf(value: string): string[] {
  if (value.length < minHiddenLength) return []
  const lines = value.split(/\r?\n/).map(plainText)
  const bytes = Buffer.from(value)
  const base64 = bytes.toString("base64")
  const inJson = JSON.stringify(value).slice(1, -1)
  const forms = [
    lines.join("\n"),
    ...lines,
    inJson,
    // JSON in JSON: a program that logs the body of a request.
    JSON.stringify(inJson).slice(1, -1),
    base64,
    bytes.toString("base64url"),
    bytes.toString("hex"),
    ...wrapColumns.map((columns) => base64.replaceAll(new RegExp(`.{${columns}}(?=.)`, "g"), "$&\n")),
    ...insideBase64(bytes),
    ...inAddresses(value),
  ]
  return forms.filter((form) => form.length >= minHiddenLength)
}

/** Base64 of a longer text that contains the value (`user:password`): the characters that depend on the value alone. */
function insideBase64(value: Buffer): string[] {
  // A shorter piece might be an ordinary word.
  const minPiece = 8
  const pieces = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), value]).toString("base64")
    return text.slice([0, 2, 3][before], Math.floor(((before + value.length) * 8) / 6))
  })
  return pieces
    .flatMap((piece) => [piece, piece.replaceAll("+", "-").replaceAll("/", "_")])
    .filter((piece) => piece.length >= minPiece)
}

function inAddresses(value: string): string[] {
  // A lone surrogate has no URL form.
  if (/\p{Surrogate}/u.test(value)) return []
  const encoded = encodeURIComponent(value)
  const strict = encoded.replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  const all = [encoded, strict, strict.replaceAll("%20", "+")]
  return all.flatMap((form) => [form, form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())])
}

// Longer forms are searched in pieces of this length: so each position of a text costs little whatever the secrets are, and
// pieces of a partly printed secret are hidden too.
const pieceLength = longestPiece

function piecesOf(form: string): string[] {
  if (form.length <= pieceLength) return [form]
  const starts = Array.from({ length: Math.ceil(form.length / pieceLength) }, (_, index) => index * pieceLength)
  return starts.map((start) => form.slice(Math.min(start, form.length - pieceLength)).slice(0, pieceLength))
}

/** How many characters are the key of a piece in the table; all pieces are longer. */
const keyLength = 4
const rolled = (key: number, code: number): number => (key << 8) ^ code

interface Pieces {
  readonly all: ReadonlySet<string>
  /** By the first characters of a piece: the lengths of pieces that start with them, longest first. */
  readonly lengths: ReadonlyMap<number, readonly number[]>
}

function tableOf(values: readonly string[]): Pieces {
  const all = new Set(values.flatMap(formsOf).flatMap(piecesOf))
  const lengths = new Map<number, number[]>()
  for (const piece of all) {
    let key = 0
    for (let at = 0; at < keyLength; at++) key = rolled(key, piece.charCodeAt(at))
    lengths.set(
      key,
      [...new Set([...(lengths.get(key) ?? []), piece.length])].toSorted((a, b) => b - a),
    )
  }
  return { all, lengths }
}

/**
 * @param values  secrets in clear text
 * @returns       a function that replaces them in a text of one or more lines, and keeps the number of lines
 */
export function hideSecrets(values: readonly string[]): (text: string) => string {
  const pieces = tableOf(values)
  return (text) => (pieces.all.size === 0 ? text : withoutSpans(text, spansOf(text, pieces)))
}

/** The positions of secrets, as pairs of start and end; overlapping and adjacent ones are merged. */
function spansOf(text: string, { all, lengths }: Pieces): [number, number][] {
  const spans: [number, number][] = []
  let key = 0
  for (let at = 0; at < text.length; at++) {
    key = rolled(key, text.charCodeAt(at))
    const candidates = lengths.get(key)
    const begin = at - keyLength + 1
    if (candidates === undefined || begin < 0) continue
    const length = candidates.find((it) => all.has(text.slice(begin, begin + it)))
    if (length === undefined) continue
    const last = spans.at(-1)
    if (last && begin <= last[1]) last[1] = Math.max(last[1], begin + length)
    else spans.push([begin, begin + length])
  }
  return spans
}

function withoutSpans(text: string, spans: readonly [number, number][]): string {
  let shown = ""
  let from = 0
  for (const [begin, end] of spans) {
    shown += text.slice(from, begin) + text.slice(begin, end).replaceAll(/[^\n]+/g, hidden)
    from = end
  }
  return shown + text.slice(from)
}
