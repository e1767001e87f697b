/** Chooses the handler that decides an event, and validates its filter (agent-server-api §12.3). Pure. */
import { isExactNumber } from "@superstep/toolkit/http/exact-number"
import type { AccessEvent } from "./caller.js"
import type { MetadataFilter } from "./metadata-filter.js"

/**
 * The most specific handler of an event. Only this one is called.
 * @param handlers  keys of the `on` handlers
 */
export function handlerOf(event: AccessEvent, handlers: readonly string[]): string | undefined {
  const [resource, action] = event.split(":")
  return [event, resource, `*:${action}`, "*"].find((key): key is string => key !== undefined && handlers.includes(key))
}

/**
 * Validates the filter that a handler returned. An unknown condition is an error: ignoring it would allow more than the
 * handler intended.
 * @throws Error  naming the invalid part
 */
export function parseFilter(filter: unknown): MetadataFilter {
  const problem = problemOf(filter)
  if (problem !== undefined) throw new Error(problem)
  return filter as MetadataFilter
}

function problemOf(filter: unknown): string | undefined {
  if (!isObject(filter)) return "a filter must be an object"
  for (const [field, condition] of Object.entries(filter)) {
    const problem = field.startsWith("$") ? listProblem(field, condition) : conditionProblem(field, condition)
    if (problem !== undefined) return problem
  }
  return undefined
}

function listProblem(operator: string, filters: unknown): string | undefined {
  if (operator !== "$and" && operator !== "$or") return `unknown filter operator ${operator}: expected $and or $or`
  if (!Array.isArray(filters)) return `${operator} takes a list of filters`
  return filters.map(problemOf).find((problem) => problem !== undefined)
}

function conditionProblem(field: string, condition: unknown): string | undefined {
  if (hasNul(field) || hasNul(condition))
    return `the condition on "${field}" contains U+0000, which metadata cannot contain`
  if (isScalar(condition)) return undefined
  const operators = isObject(condition) ? Object.keys(condition) : []
  const isKnown = operators.length === 1 && (operators[0] === "$eq" || operators[0] === "$contains")
  return isKnown ? undefined : `the condition on "${field}" must be a value, {"$eq": …} or {"$contains": …}`
}

// Postgres cannot store or compare U+0000. Its error would not name the handler.
function hasNul(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\0")
  return isNested(value) && Object.entries(value).some(([key, field]) => hasNul(key) || hasNul(field))
}

const isNested = (value: unknown): value is object => typeof value === "object" && value !== null

const isScalar = (value: unknown): boolean =>
  value === null || ["string", "number", "boolean"].includes(typeof value) || isExactNumber(value)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
