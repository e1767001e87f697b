/** Checks values that others have written, and that may be wrong in a million places. */
import type { z } from "zod"

// Zod's own switch, which its types keep for itself.
const untilFirst = { abortEarly: true } as z.core.ParseContext<z.core.$ZodIssue>

// Their problems take some tenths of a second at most.
const mostCheckedValues = 10_000

/**
 * `safeParse`, but a list of a large value is checked up to its first wrong item and an object up to its first wrong field. Each problem
 * takes some microseconds and a kilobyte, so all problems of some megabytes would hold the process up for half a minute. The entries of a
 * `z.record` are all checked: give the schema of a stranger's record a rule of its own for the values (`texts`).
 */
export function checkForeign<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  const found = schema.safeParse(value, untilFirst)
  return found.success || hasMoreValues(value, mostCheckedValues) ? found : schema.safeParse(value)
}

function hasMoreValues(value: unknown, most: number): boolean {
  const open = [value]
  let count = 1
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    const items: unknown[] = Object.values(next)
    count += items.length
    if (count > most) return true
    open.push(...items)
  }
  return false
}
