/** The JSON Schema of the frames, and a validator for the part of JSON Schema that it uses. */
import { readFileSync } from "node:fs"

/** The keywords that `frames.schema.json` uses; a new keyword is added here and in `matches` first. */
export interface Schema {
  readonly description?: string
  readonly type?: "string" | "integer" | "number" | "boolean" | "array" | "object"
  readonly const?: string | number
  readonly enum?: readonly (string | number)[]
  readonly oneOf?: readonly Schema[]
  readonly $ref?: string
  readonly items?: Schema
  readonly minItems?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

/** The named parts of `protocol/worker/frames.schema.json`, such as `RunFrame`. */
export const definitions: Readonly<Record<string, Schema>> = JSON.parse(
  readFileSync(new URL(import.meta.resolve("@superstep/protocol/frames.schema.json")), "utf8"),
).$defs

/** The part that a `$ref` names. */
export function definitionName(ref: string): string {
  return ref.slice("#/$defs/".length)
}

/**
 * The problems of a value, each as `path: what was expected`; empty for a valid value.
 * @param name  the name of a definition, such as `ServerFrame`
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
    const { items, minItems = 0 } = schema
    if (value.length < minItems) return [`${path}: expected ${minItems} items`]
    return items === undefined ? [] : value.flatMap((each, index) => matches(items, each, `${path}[${index}]`))
  }
  return typeof value === "object" && value !== null ? matchesObject(schema, { ...value }, path) : []
}

function matchesOne(schemas: readonly Schema[], value: unknown, path: string): string[] {
  // Nearly every value is valid, so it is first compared only with the schemas for its `type` and `method`.
  if (schemas.some((each) => maySuit(each, value) && matches(each, value, path).length === 0)) return []
  const attempts = schemas.map((each) => matches(each, value, path))
  // `type` and `method` identify a frame: report the problems of the schema for which these match.
  const isOther = (problem: string) => /\.(type|method): expected|: is none of/.test(problem)
  return attempts.find((found) => !found.some(isOther)) ?? [`${path}: is none of the known kinds`]
}

/** False when the schema requires another `type` or `method` than the value has. */
function maySuit(schema: Schema, value: unknown): boolean {
  const { $ref, properties } = schema
  if ($ref !== undefined) return maySuit(named(definitionName($ref)), value)
  if (properties === undefined || typeof value !== "object" || value === null) return true
  const { type, method } = value as Record<string, unknown>
  return suits(properties.type, type) && suits(properties.method, method)
}

const suits = (schema: Schema | undefined, value: unknown): boolean =>
  schema?.const === undefined || schema.const === value

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
