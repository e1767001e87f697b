/**
 * Which texts Postgres can store in a `text` or `jsonb` column or parameter, and what to do with the others. What a stranger wrote (a project, a unit, a
 * git host, somebody who commits) is stored only as a `StorableText`, so a place where it comes in and is not made one does not compile.
 */
import { z } from "zod"

/** Postgres stores it unchanged, and it was cut to a length. Only this folder makes one. */
export type StorableText = string & z.$brand<"StorableText">

// U+0000 is refused by Postgres, half a surrogate pair cannot be written as UTF-8.
const unstorable = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
const allUnstorable = new RegExp(unstorable, "g")

/** Whether Postgres stores this text unchanged. */
export const isPlainText = (text: string): boolean => !unstorable.test(text)

/** For texts that identify something: a text that Postgres would not store unchanged is refused. */
export const plainText = z.string().refine(isPlainText, { error: () => unstorableText, abort: true })

/** What is wrong with a text that is not plain. */
export const unstorableText = "expected text without U+0000 and without unpaired surrogates"

/**
 * Where a JSON value of any depth holds a text that Postgres would not store unchanged, as a key or as a value.
 * @returns  the path, whose texts can be stored; undefined when there is none
 */
export function unstorablePath(value: unknown): string[] | undefined {
  const open: { readonly value: unknown; readonly path: readonly string[] }[] = [{ value, path: [] }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { value: it, path } = next
    if (typeof it === "string" && !isPlainText(it)) return path.map(withoutUnstorable)
    if (it === null || typeof it !== "object") continue
    for (const [key, item] of Object.entries(it)) {
      const at = path.length < mostShownKeys ? [...path, key] : path
      if (!isPlainText(key)) return at.map(withoutUnstorable)
      open.push({ value: item, path: at })
    }
  }
  return undefined
}

// A path of a deeper value is not read to its end.
const mostShownKeys = 20

/**
 * For texts that people read, such as messages of a program: U+0000 becomes `\u0000` in six characters, half a surrogate pair
 * becomes U+FFFD. A text that Postgres stores unchanged comes back as it is.
 * @param longest  how many UTF-16 units of the text are kept; what replaces a U+0000 has six
 */
export const storableText = (text: string, longest: number): StorableText =>
  withoutUnstorable(text.slice(0, longest)) as StorableText

const withoutUnstorable = (text: string): string =>
  text.replace(allUnstorable, (found) => (found === "\0" ? String.raw`\u0000` : "\ufffd"))
