/**
 * JSON whose numbers stay as they are (decision 0057). What belongs to users is parsed by `parseJson` and printed by `toJsonText`; what
 * need not be read is passed on as RawJson (architecture D3, D9b).
 */

import { scanJson } from "../text/scan-json.js"
import { printAsIs, printJson } from "./json-printer.js"
import { parseExact } from "./parse-exact.js"

/** JSON text that is already JSON: it is spliced into a reply unparsed. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toJSON(): string {
    return printAsIs(this.text, "raw")
  }
}

/** A RawJson, or null for null: the value of a nullable `json` column. */
export const rawJson = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))

/** `JSON.stringify`, with exact numbers as they came and RawJson spliced in at any depth. Undefined fields are left out. */
export const toJsonText = (value: unknown): string => printJson(value).text

/** `JSON.parse`, but a number that a double would change is an `ExactNumber`. @throws SyntaxError */
// biome-ignore lint/suspicious/noExplicitAny: as of JSON.parse
export function parseJson(text: string): any {
  // Also rejects what is not JSON.
  const value: unknown = JSON.parse(text)
  return scanJson(text).found.length === 0 ? value : parseExact(text)
}

/** The value of a RawJson; anything else is already a value. */
export const parsedJson = (json: unknown): unknown => (json instanceof RawJson ? parseJson(json.text) : json)

/** A JSON response; RawJson inside `value` keeps its bytes. */
export function jsonResponse(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(toJsonText(value), { status, headers: { "content-type": "application/json", ...headers } })
}
