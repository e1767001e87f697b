/** Which texts Postgres can store in a `text` or `jsonb` column or parameter, and what to do with the others. */
import { z } from "zod"

// U+0000 is refused by Postgres, half a surrogate pair cannot be written as UTF-8.
const unstorable = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
const allUnstorable = new RegExp(unstorable, "g")

/** Whether Postgres stores this text unchanged. */
export const isPlainText = (text: string): boolean => !unstorable.test(text)

/** For texts that identify something: a text that Postgres would not store unchanged is refused. */
export const plainText = z.string().refine(isPlainText, "expected text without U+0000 and without unpaired surrogates")

/**
 * For texts that people read, such as messages of a program: U+0000 becomes `\u0000` in six characters, half a surrogate pair
 * becomes U+FFFD. A text that Postgres stores unchanged comes back as it is.
 */
export const storableText = (text: string): string =>
  text.replace(allUnstorable, (found) => (found === "\0" ? String.raw`\u0000` : "\ufffd"))
