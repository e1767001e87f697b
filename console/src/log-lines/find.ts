/** Finding in a log. Pure. */
import type { LogLine } from "../platform/types.js"

const severe = new Set(["ERROR", "CRITICAL"])
// What tools print when they fail, although they mark it with no level.
const saysError = /\b(?:error|failed|fatal|exception|traceback|ERR!)/i

export const isError = ({ level, message }: Pick<LogLine, "level" | "message">): boolean =>
  severe.has(level) || saysError.test(message)

/** The next error after a line, from the start again after the last one. @returns its index; -1 without any */
export function nextError(lines: readonly Pick<LogLine, "level" | "message">[], after: number): number {
  const next = lines.findIndex((line, index) => index > after && isError(line))
  return next >= 0 ? next : lines.findIndex(isError)
}

/** A text in parts, of which every second one contains what was searched. */
export function highlighted(text: string, searched: string): string[] {
  const wanted = searched.trim()
  if (wanted === "") return [text]
  const parts: string[] = []
  const [lower, lowerWanted] = [text.toLowerCase(), wanted.toLowerCase()]
  // Lower case can change the length of a text, in Turkish for one; such lines are not marked.
  if (lower.length !== text.length) return [text]
  let from = 0
  for (let at = lower.indexOf(lowerWanted); at >= 0; at = lower.indexOf(lowerWanted, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + wanted.length))
    from = at + wanted.length
  }
  return [...parts, text.slice(from)]
}

/** A line as it is shown: lines of a stack trace are folded below the others. */
export interface ShownLine {
  readonly words: string
  readonly fields: string
  /** Of a stack trace, or of a message of several lines. */
  readonly folded: readonly string[]
}

/** A field with line breaks, most often the stack of an error, is shown as lines and not as JSON. */
export function shownLine(text: string): ShownLine {
  const [first, ...rest] = text.split("\n")
  if (rest.length > 0) return { words: first ?? "", fields: "", folded: rest }
  const [words, fields] = inParts(text)
  const found: string[] = []
  const without = (key: string, value: unknown): unknown => {
    if (typeof value !== "string" || !value.includes("\n")) return value
    found.push(...(key === "stack" ? value.split("\n") : [`${key}:`, ...value.split("\n")]))
    return undefined
  }
  try {
    const rest = fields === "" ? "" : ` ${JSON.stringify(JSON.parse(fields), without)}`
    return found.length === 0 ? { words, fields, folded: [] } : { words, fields: rest, folded: found }
  } catch {
    return { words, fields, folded: [] }
  }
}

/** A message and the fields that its logger added: `run ended {"attempt":1}`. @returns no fields for any other text */
export function inParts(text: string): [words: string, fields: string] {
  const at = text.indexOf(' {"')
  return at > 0 && text.endsWith("}") ? [text.slice(0, at), text.slice(at)] : [text, ""]
}
