/** What a stored log line looks like, and how a raw one becomes it: no secrets, no terminal codes, a bounded size. Pure. */
import { stripVTControlCharacters } from "node:util"

export const logLevels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const
export type LogLevel = (typeof logLevels)[number]

export const logStreams = ["build", "deploy"] as const
export type LogStream = (typeof logStreams)[number]

export interface NewLogLine {
  readonly message: string
  /** INFO unless told. */
  readonly level?: LogLevel
  /** When it was said; now unless told. */
  readonly at?: Date
}

// A line longer than this is data, not a sentence; what follows would only make the page slow.
const maxLineBytes = 16 * 1024
const cutMark = " … [line cut]"

// Shorter values ("true", "8000") occur in ordinary words, so hiding them would make logs unreadable.
const minHiddenLength = 6
const hidden = "[secret]"

const pathEncoded = (text: string): string[] => {
  try {
    return [encodeURIComponent(text)]
  } catch (error) {
    // A lone surrogate has no URL form, hence there is none to hide.
    if (error instanceof URIError) return []
    throw error
  }
}

/** Every form in which a value may be printed: itself, its lines, base64, URL-encoded, inside JSON. */
function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/)
  const whole = [
    value,
    Buffer.from(value).toString("base64"),
    JSON.stringify(value).slice(1, -1),
    ...pathEncoded(value),
  ]
  return [...whole, ...lines].filter((form) => form.length >= minHiddenLength)
}

/**
 * @param values  clear secrets
 * @returns       a function that replaces each of them in a text, longest first so that none is left in part
 */
export function hideSecrets(values: readonly string[]): (text: string) => string {
  const forms = [...new Set(values.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  return (text) => forms.reduce((shown, form) => shown.replaceAll(form, hidden), text)
}

// Postgres' text has no NUL, and other control characters would move the reader's cursor; a tab is innocent.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
const controlCharacters = /[\u0000-\u0008\u000a-\u001f\u007f]/g

/** A raw line as it is stored. Secrets go before the cut, so that no half of one stays. */
export function cleanLine(raw: string, hide: (text: string) => string): string {
  const text = hide(stripVTControlCharacters(raw)).replace(controlCharacters, "").trimEnd()
  if (Buffer.byteLength(text) <= maxLineBytes) return text
  const kept = Buffer.from(text)
    .subarray(0, maxLineBytes - Buffer.byteLength(cutMark))
    .toString()
  // A character that the cut went through decodes to U+FFFD.
  return kept.replace(/\ufffd$/, "") + cutMark
}
