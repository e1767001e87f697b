/**
 * Prepares printed text for storage and display: no terminal codes, secrets hidden, a limited size. A text may have several lines, such as a
 * stack trace, and stays one. Pure.
 */
import { stripVTControlCharacters } from "node:util"
import { type StorableText, storableText } from "./storable.js"

// A longer line is data, not a message; the rest would only make the page slow.
const maxLineBytes = 16 * 1024
const cutMark = " … [line cut]"

/** Only this much of a longer line is read by whoever reads lines. */
export const maxRawBytes = 512 * 1024

/** Secrets are found in pieces of this many characters, so the end of a partly read line may contain less than one. */
export const longestPiece = 64

// Postgres' text allows no NUL; other control characters would move the reader's cursor, as would C1 codes and those that
// change the writing direction. A tab is harmless.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
const controlCharacters = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A line without control characters. */
export const plainText = (line: string): string =>
  stripVTControlCharacters(line).replace(controlCharacters, "").trimEnd()

const plainLines = (raw: string): string[] => stripVTControlCharacters(raw).split(/\r?\n/).map(plainText)

/**
 * Prepares texts for storage. Secrets are searched in all lines together, since some span several, and before anything is
 * cut, so that no half of one remains.
 * @param hide  replaces secrets in a text and keeps the number of its lines
 * @returns     as many texts as were given
 */
export function cleanLines(raw: readonly string[], hide: (text: string) => string): StorableText[] {
  const texts = raw.map(plainLines)
  const cleaned = hide(texts.flat().join("\n")).split("\n")
  let next = 0
  return texts.map(({ length }, index) => {
    const own = cleaned.slice(next, next + length)
    next += length
    return cut(own.join("\n").trimEnd(), Buffer.byteLength(raw[index] ?? "") >= maxRawBytes)
  })
}

/** Prepares one text for storage. */
export const cleanLine = (raw: string, hide: (text: string) => string): StorableText =>
  cleanLines([raw], hide)[0] ?? storableText("", 0)

function cut(text: string, isCutBefore: boolean): StorableText {
  const safe = isCutBefore ? text.slice(0, Math.max(0, text.length - longestPiece)) : text
  if (!isCutBefore && Buffer.byteLength(safe) <= maxLineBytes) return storableText(safe, maxLineBytes)
  const kept = Buffer.from(safe)
    .subarray(0, maxLineBytes - Buffer.byteLength(cutMark))
    .toString()
  // A character that the cut has split decodes to U+FFFD.
  return storableText(kept.replace(/\ufffd$/, "") + cutMark, maxLineBytes)
}
