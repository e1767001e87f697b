/** Texts of strangers as one line: stored, printed to terminals and shown beside other words. */
import { type StorableText, storableText } from "./storable.js"

// Line breaks, and characters that terminals obey or that Postgres refuses.
const breaks = /[\s\p{Cc}\p{Zl}\p{Zp}]+/gu
// They let a text look like another one, and change the order of the words after it.
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * The text in one line, without control characters and without those that change the direction of writing.
 * @param longest  in UTF-16 units; of a longer text the start is kept, and "…" is its last character
 */
export function shownLine(text: string, longest: number): StorableText {
  const line = text.replace(directions, "").replace(breaks, " ").trim()
  if (line.length <= longest) return storableText(line, longest)
  const isInCharacter = /[\ud800-\udbff]/.test(line.charAt(longest - 2))
  return storableText(`${line.slice(0, isInCharacter ? longest - 2 : longest - 1)}…`, longest)
}
