/** Single values of a thread, found by paths such as `values.messages[-1].content` (agent-server-api §5.2). Pure. */
import { parseJson } from "@superstep/toolkit/http/json"
import { metadataOf, type ThreadRow } from "./thread.js"

/** Where a path may start. */
const roots = ["values", "metadata", "config", "interrupts"] as const

const step = String.raw`\.[^.[\]]+|\[-?\d{1,9}\]`
export const extractPath = new RegExp(`^(?:${roots.join("|")})(?:${step})*$`)

/** @returns for each alias the value at its path; null when there is none */
export function extract(row: ThreadRow, paths: Readonly<Record<string, string>>): Record<string, unknown> {
  const documents = new Map<string, unknown>()
  const documentOf = (root: string) => {
    if (!documents.has(root)) documents.set(root, parsed(row, root))
    return documents.get(root)
  }
  return Object.fromEntries(
    Object.entries(paths).map(([alias, path]) => {
      const [root = "", ...steps] = path.match(new RegExp(`^\\w+|${step}`, "g")) ?? []
      return [alias, steps.reduce(follow, documentOf(root)) ?? null]
    }),
  )
}

function parsed(row: ThreadRow, root: string): unknown {
  switch (root) {
    case "metadata":
      return metadataOf(row)
    case "values":
      return parseJson(row.values ?? "null")
    default:
      return parseJson(root === "config" ? row.config : row.interrupts)
  }
}

function follow(value: unknown, each: string): unknown {
  if (each.startsWith(".")) {
    const key = each.slice(1)
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    return isObject && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
  }
  return Array.isArray(value) ? value.at(Number(each.slice(1, -1))) : undefined
}
