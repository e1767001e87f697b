import { z } from "zod"

/** What a user sends as a JSON object: as it is. A copy, which `z.record` makes, would not have a key `__proto__`. */
export const jsonObject = z
  .unknown()
  .check(({ value, issues }) => {
    if (!isPlainObject(value)) issues.push({ code: "invalid_type", expected: "record", input: value })
  })
  .meta({ type: "object", additionalProperties: {} }) as z.ZodType as z.ZodType<Record<string, unknown>>

const isPlainObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
