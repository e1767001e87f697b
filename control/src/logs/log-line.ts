/** What a stored log line looks like, and how a text becomes one: no terminal codes, no line breaks, a bounded size. Pure. */
import { stripVTControlCharacters } from "node:util"

export const logLevels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const
export type LogLevel = (typeof logLevels)[number]

export const logStreams = ["build", "deploy"] as const
export type LogStream = (typeof logStreams)[number]

export interface NewLogLine {
  readonly message: string
  /** INFO unless told. */
  readonly level?: LogLevel
  /** When it was said; now unless told, and never later. */
  readonly at?: Date
  /** A UUID, when the line says which run it is about. */
  readonly runId?: string
}

// A line longer than this is data, not a sentence; what follows would only make the page slow.
const maxLineBytes = 16 * 1024
const cutMark = " … [line cut]"

/** Of a longer line only so much is looked at (`files/read-lines.ts`). */
export const maxRawBytes = 512 * 1024

/** Secrets are found in pieces of this many characters, so the end of a line that was read in part may hold less of one. */
export const longestPiece = 64

// Postgres' text has no NUL, and other control characters would move the reader's cursor, as would C1 codes and those that
// turn the direction of writing. A tab is innocent.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
const controlCharacters = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text on one line without control characters; a line break inside of it becomes visible, so that it fakes no line. */
export const plainText = (raw: string): string =>
  stripVTControlCharacters(raw).replace(/\r?\n/g, String.raw`\n`).replace(controlCharacters, "").trimEnd()

/**
 * Texts as they are stored. Secrets are looked for in all lines together, since some span several, and before anything
 * is cut, so that no half of one stays.
 * @param hide  replaces secrets in a text and keeps the number of its lines
 * @returns     as many as there were
 */
export function cleanLines(raw: readonly string[], hide: (text: string) => string): string[] {
  const cleaned = hide(raw.map(plainText).join("\n")).split("\n")
  return cleaned.map((text, index) => cut(text, Buffer.byteLength(raw[index] ?? "") >= maxRawBytes))
}

/** One text as it is stored. */
export const cleanLine = (raw: string, hide: (text: string) => string): string => cleanLines([raw], hide)[0] ?? ""

function cut(text: string, isCutBefore: boolean): string {
  const safe = isCutBefore ? text.slice(0, Math.max(0, text.length - longestPiece)) : text
  if (!isCutBefore && Buffer.byteLength(safe) <= maxLineBytes) return safe
  const kept = Buffer.from(safe)
    .subarray(0, maxLineBytes - Buffer.byteLength(cutMark))
    .toString()
  // A character that the cut went through decodes to U+FFFD.
  return kept.replace(/\ufffd$/, "") + cutMark
}
