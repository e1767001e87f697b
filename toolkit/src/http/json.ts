/** JSON text that is already JSON: it is spliced into a reply unparsed (architecture D3, D9b). */

/** Marks a text as JSON. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A RawJson, or null for null: the value of a nullable `json` column. */
export const rawJson = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))

/** `JSON.stringify`, with RawJson spliced in at any depth. Undefined fields are left out. */
export function toJsonText(value: unknown): string {
  if (value instanceof RawJson) return value.text
  if (value === null || typeof value !== "object" || "toJSON" in value) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${value.map(toJsonText).join(",")}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${toJsonText(field)}`).join(",")}}`
}

/** A JSON response; RawJson inside `value` keeps its bytes. */
export function jsonResponse(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(toJsonText(value), { status, headers: { "content-type": "application/json", ...headers } })
}
