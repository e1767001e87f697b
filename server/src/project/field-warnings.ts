/** Warnings about fields of a `langgraph.json`: unknown ones, and those without effect. Pure. */
import { z } from "zod"
import { fields } from "./fields.js"
import { type LanggraphJson, langgraphConfig } from "./langgraph-json.js"

/** One line per field, starting with its path. */
export const fieldWarnings = (config: LanggraphJson): string[] => [
  ...unknownFields(langgraphConfig, config, []),
  ...fields.flatMap(({ path, ignored }) => (ignored && isSet(config, path.split(".")) ? [`${path}: ${ignored}`] : [])),
]

/** All paths that a schema knows, `*` for any name. */
export function knownFields(schema: unknown, at: readonly string[] = []): string[] {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodRecord) return knownFields(inner.valueType, [...at, "*"])
  if (!(inner instanceof z.ZodObject)) return []
  return Object.entries(inner.shape).flatMap(([key, field]) => {
    const path = [...at, key]
    return [path.join("."), ...knownFields(field, path)]
  })
}

function unknownFields(schema: unknown, value: unknown, at: readonly string[]): string[] {
  const inner = unwrapped(schema)
  if (typeof value !== "object" || value === null) return []
  const entries = Object.entries(value)
  if (inner instanceof z.ZodRecord) {
    return entries.flatMap(([key, field]) => unknownFields(inner.valueType, field, [...at, key]))
  }
  if (!(inner instanceof z.ZodObject)) return []
  const known: string[] = Object.keys(inner.shape)
  return entries.flatMap(([key, field]) => {
    const path = [...at, key]
    if (Object.hasOwn(inner.shape, key)) return unknownFields(inner.shape[key], field, path)
    const near = nearest(key, known)
    return [`${path.join(".")}: this key is unknown and ignored${near === undefined ? "" : `: did you mean ${near}?`}`]
  })
}

/** The schema inside of optional and nullable, and the object among the members of a union. */
function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrapped(schema.unwrap())
  if (schema instanceof z.ZodUnion) return schema.options.find((option) => option instanceof z.ZodObject)
  return schema
}

function isSet(value: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return value !== undefined
  return typeof value === "object" && value !== null && isSet((value as Record<string, unknown>)[key], rest)
}

// A name that differs in more than this share of its letters is not suggested.
const maxDifference = 0.4

function nearest(key: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: distanceOf(key, name) }))
    .sort((a, b) => a.distance - b.distance)
  return best && best.distance <= Math.max(1, key.length * maxDifference) ? best.name : undefined
}

/** The Levenshtein distance: the number of letters to add, remove or change. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
