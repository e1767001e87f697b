/** Checks whether Postgres can store a text in a `text` column or parameter. */

// U+0000 is refused by Postgres, half a surrogate pair cannot be written as UTF-8.
const unstorable = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** Whether Postgres stores this text unchanged. */
export const isPlainText = (text: string): boolean => !unstorable.test(text)
