/** Unknown fields are ignored, as the original does, but named in `X-Ignored-Fields` (CP-D13). */
import type { z } from "@hono/zod-openapi"
import type { Context } from "hono"

// A header must stay short and plain, whatever the names are.
const maxNames = 20
const maxNameLength = 60
const plain = (name: string): string => name.slice(0, maxNameLength).replaceAll(/[^\w.-]/g, "_")

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Names at the top level of a body, and inside the given parts, that are not in their schemas. */
export function ignoredFields(
  body: unknown,
  known: z.ZodRawShape,
  parts: Readonly<Record<string, readonly string[]>> = {},
): string[] {
  if (!isObject(body)) return []
  const top = Object.keys(body).filter((name) => !(name in known))
  const inside = Object.entries(parts).flatMap(([part, names]) => {
    const value = body[part]
    return isObject(value)
      ? Object.keys(value).flatMap((name) => (names.includes(name) ? [] : [`${part}.${name}`]))
      : []
  })
  return [...top, ...inside]
}

/** The same for the raw text of a body; an empty one has none. */
export const ignoredFieldsOf = (
  bodyText: string,
  known: z.ZodRawShape,
  parts?: Readonly<Record<string, readonly string[]>>,
): string[] => (bodyText.trim() === "" ? [] : ignoredFields(JSON.parse(bodyText), known, parts))

/** Lists the fields in a header of the reply, if there are any. */
export function setIgnoredFieldsHeader(c: Context, names: readonly string[]): void {
  if (names.length > 0) c.header("x-ignored-fields", names.slice(0, maxNames).map(plain).join(", "))
}
