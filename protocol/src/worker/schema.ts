/** The JSON Schema of the frames, and a check of values against the part of JSON Schema that it uses. */
import { readFileSync } from "node:fs"

/** The keywords that `frames.schema.json` uses; a new keyword is added here and in `matches` first. */
export interface Schema {
  readonly description?: string
  readonly type?: "string" | "integer" | "boolean" | "array" | "object"
  readonly const?: string | number
  readonly enum?: readonly (string | number)[]
  readonly oneOf?: readonly Schema[]
  readonly $ref?: string
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

/** The named parts of `protocol/worker/frames.schema.json`, such as `RunFrame`. */
export const definitions: Readonly<Record<string, Schema>> = JSON.parse(
  readFileSync(new URL("../../worker/frames.schema.json", import.meta.url), "utf8"),
).$defs

/** The part that a `$ref` names. */
export function definitionName(ref: string): string {
  return ref.slice("#/$defs/".length)
}

/**
 * What is wrong with a value, each as `path: what was expected`; empty when nothing is.
 * @param name  of a definition, such as `ServerFrame`
 */
export function problems(name: string, value: unknown): string[] {
  return matches(named(name), value, "frame")
}

function named(name: string): Schema {
  const schema = definitions[name]
  if (schema === undefined) throw new Error(`frames.schema.json has no definition ${name}`)
  return schema
}

function matches(schema: Schema, value: unknown, path: string): string[] {
  if (schema.$ref !== undefined) return matches(named(definitionName(schema.$ref)), value, path)
  if (schema.oneOf !== undefined) return matchesOne(schema.oneOf, value, path)
  if (schema.const !== undefined) return schema.const === value ? [] : [`${path}: expected ${schema.const}`]
  if (schema.enum !== undefined) {
    return schema.enum.some((each) => each === value) ? [] : [`${path}: expected one of ${schema.enum.join(", ")}`]
  }
  if (schema.type === undefined) return []
  if (!hasType(schema.type, value)) return [`${path}: expected ${schema.type}`]
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? [] : value.flatMap((each, index) => matches(items, each, `${path}[${index}]`))
  }
  return typeof value === "object" && value !== null ? matchesObject(schema, { ...value }, path) : []
}

function matchesOne(schemas: readonly Schema[], value: unknown, path: string): string[] {
  const attempts = schemas.map((each) => matches(each, value, path))
  if (attempts.some((found) => found.length === 0)) return []
  // Frames are told apart by `type` and `method`: where these fit, the rest was meant to.
  const isOther = (problem: string) => /\.(type|method): expected|: is none of/.test(problem)
  return attempts.find((found) => !found.some(isOther)) ?? [`${path}: is none of the known kinds`]
}

function matchesObject(schema: Schema, value: Record<string, unknown>, path: string): string[] {
  const missing = (schema.required ?? [])
    .filter((key) => value[key] === undefined)
    .map((key) => `${path}.${key}: is missing`)
  const wrong = Object.entries(value).flatMap(([key, each]) => {
    const property = schema.properties?.[key]
    if (property !== undefined) return each === undefined ? [] : matches(property, each, `${path}.${key}`)
    const { additionalProperties } = schema
    return typeof additionalProperties === "object" ? matches(additionalProperties, each, `${path}.${key}`) : []
  })
  return [...missing, ...wrong]
}

function hasType(type: NonNullable<Schema["type"]>, value: unknown): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value)
    case "integer":
      return Number.isInteger(value)
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value)
    default:
      return typeof value === type
  }
}
