/** What a person should know about the fields of a `langgraph.json`: unknown ones, and those that do nothing. Pure. */
import { z } from "zod"
import { fields } from "./fields.js"
import { type LanggraphJson, langgraphConfig } from "./langgraph-json.js"

/** One line each, with the field's path first. */
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

/** What is inside of "or absent", and of several forms the object. */
function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrapped(schema.unwrap())
  if (schema instanceof z.ZodUnion) return schema.options.find((option) => option instanceof z.ZodObject)
  return schema
}

function isSet(value: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return value !== undefined
  return typeof value === "object" && value !== null && isSet((value as Record<string, unknown>)[key], rest)
}

// A name that differs more is another name.
const mostOfTheName = 0.4

function nearest(key: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: distanceOf(key, name) }))
    .sort((a, b) => a.distance - b.distance)
  return best && best.distance <= Math.max(1, key.length * mostOfTheName) ? best.name : undefined
}

/** How many letters must be added, dropped or changed to get from one word to the other (Levenshtein). */
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
