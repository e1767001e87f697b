/** Translates zod's issues into the messages of LangGraph's servers, which clients expect. */
import type { z } from "zod"
import type { Problem } from "../errors/errors.js"

type Issue = z.core.$ZodIssue
type Path = readonly (string | number)[]

// Nobody reads more of them.
const mostReported = 100

/**
 * @param value  the checked value; zod's issues do not contain it
 * @param at     where that value came from, such as `["body"]`
 */
export function problemsOf(issues: readonly Issue[], value: unknown, at: Path): Problem[] {
  return narrowest(issues.slice(0, mostReported)).flatMap((issue) => {
    const inside = issue.path.map((part) => (typeof part === "number" ? part : String(part)))
    const path = [...at, ...inside]
    // A rule of our own (`custom`) says more than that its field is missing.
    if (issue.code !== "custom" && valueAt(value, inside) === undefined) {
      return [{ path, message: "this field is required", type: "missing" }]
    }
    if (issue.code === "invalid_union") return problemsOfUnion(issue, valueAt(value, inside), path)
    return [{ path, message: issue.message, type: "value_error" }]
  })
}

/** A number far outside its range violates the bound of all whole numbers, too, which zod reports first. */
const narrowest = (issues: readonly Issue[]): readonly Issue[] =>
  issues.filter(({ code, path }, index) => {
    const next = issues[index + 1]
    return !(code === next?.code && /^too_/.test(code) && String(path) === String(next.path))
  })

/** Of several allowed forms, only the problems of the nearest one are reported; else what all of them expect. */
function problemsOfUnion(issue: Extract<Issue, { code: "invalid_union" }>, value: unknown, path: Path): Problem[] {
  const nearest = issue.errors.find((branch) => branch.length > 0 && branch.every((inner) => inner.path.length > 0))
  if (nearest) return problemsOf(nearest, value, path)
  const expectations = [...new Set(issue.errors.flatMap((branch) => branch.map(({ message }) => message)))]
  return [{ path, message: expectations.join(", or ") || issue.message, type: "value_error" }]
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value
  for (const key of path) {
    // A list in a query is one text, and none of its parts is missing.
    if (typeof current === "string") return current
    if (current === null || typeof current !== "object") return undefined
    current = (current as Readonly<Record<string | number, unknown>>)[key]
  }
  return current
}
