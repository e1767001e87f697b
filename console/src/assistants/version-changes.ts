/** What differs between two versions of an assistant. Pure. */
import { isSame } from "../schema-form/value.js"

export interface VersionChange {
  /** Such as `context.model` or `config.tags[0]`. */
  readonly path: string
  readonly before: unknown
  readonly after: unknown
}

const fields = ["name", "description", "graph_id", "context", "config", "metadata"] as const

export type VersionFields = { readonly [Field in (typeof fields)[number]]?: unknown }

/** Changed values by their paths; `undefined` stands for a value that one of the versions has not. */
export const versionChanges = (before: VersionFields, after: VersionFields): VersionChange[] =>
  fields.flatMap((field) => changesAt(field, before[field], after[field]))

function changesAt(path: string, before: unknown, after: unknown): VersionChange[] {
  if (isSame(before ?? undefined, after ?? undefined)) return []
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length)
    return Array.from({ length }, (_, n) => changesAt(`${path}[${n}]`, before[n], after[n])).flat()
  }
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return keys.flatMap((key) => changesAt(`${path}.${key}`, before[key], after[key]))
  }
  return [{ path, before: before ?? undefined, after: after ?? undefined }]
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
