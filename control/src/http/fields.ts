/** Field types that requests share. */
import { z } from "@hono/zod-openapi"
import { shownLine } from "@superstep/toolkit/text/shown-line"
import { isPlainText } from "@superstep/toolkit/text/storable"

// Far above any real setting; deeper values would exhaust the stack of recursive code.
const maxDepth = 40

/** Returns why a JSON value cannot be stored, or undefined when it can. */
export function storageProblem(value: unknown, depth = 0): string | undefined {
  if (depth > maxDepth) return `is nested deeper than ${maxDepth} levels`
  if (typeof value === "string") return isPlainText(value) ? undefined : "contains NUL or half a surrogate pair"
  if (value === null || typeof value !== "object") return undefined
  for (const [key, item] of Object.entries(value)) {
    const problem = storageProblem(key) ?? storageProblem(item, depth + 1)
    if (problem) return problem
  }
  return undefined
}

/** A text that can be stored, and in which `problemOf` finds no problem. */
export const checked = (problemOf: (value: string) => string | undefined) =>
  z.string().superRefine((value, ctx) => {
    const problem = storageProblem(value) ?? problemOf(value)
    if (problem) ctx.addIssue({ code: "custom", message: problem })
  })

/** A text that can be stored. */
export const text = checked(() => undefined)

const longestLine = 500

/** What people read beside other words. It comes from strangers, and no request fails for it: it is cleaned and cut. */
export const line = z.string().transform((value): string => shownLine(value, longestLine))

export const uuid = z.guid("expected a UUID")

/** Parses a query parameter. An empty value counts as absent: the CLI's `list` sends `name_contains=` (§1.4). */
export const optionalParameter = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === "" ? undefined : value), schema.optional())

/** A whole number in a query string; only a sign and digits, so that `1e3` and `0x10` are rejected. */
export const wholeNumber = ({ min, max }: { min: number; max: number }) =>
  z
    .string("expected a whole number")
    .regex(/^-?\d{1,12}$/, "expected a whole number")
    .transform(Number)
    .refine((number) => number >= min && number <= max, `expected a number from ${min} to ${max}`)

/** `a,b`, or the parameter repeated; empty parts are left out. */
export const commaSeparated = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat().flatMap((part) => part.split(",")))
  .transform((parts) => parts.map((part) => part.trim()).filter((part) => part !== ""))

export const trueOrFalse = z.enum(["true", "false"], "expected true or false").transform((value) => value === "true")
