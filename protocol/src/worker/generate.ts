/** Generates the TypeScript types of the frames, and Python's tables of required fields, from the JSON Schema, so that all agree. */
import { definitionName, definitions, type Schema } from "./schema.js"

const opening = `/**
 * The headers of the worker protocol's frames, for both sides; \`worker/README.md\` describes the protocol.
 * Generated from \`worker/frames.schema.json\` by \`npm run generate -w protocol\`; a test compares them.
 * Long on purpose: it is printed from one schema.
 */
`

/** The text of \`frames.ts\`. */
export function frameTypes(): string {
  const types = Object.entries(definitions).map(([name, schema]) => declaration(name, schema))
  return [opening, ...types].join("\n")
}

function declaration(name: string, schema: Schema): string {
  const doc = schema.description === undefined ? "" : `/** ${schema.description} */\n`
  if (schema.type === "object") return `${doc}export interface ${name} ${object(schema, "")}\n`
  return `${doc}export type ${name} =\n${(schema.oneOf ?? [schema]).map((each) => `  | ${type(each, "  ")}`).join("\n")}\n`
}

function object(schema: Schema, indent: string): string {
  const inner = `${indent}  `
  const lines = Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const isRequired = schema.required?.includes(key) === true
    const doc = property.description === undefined ? [] : [`${inner}/** ${property.description} */`]
    return [...doc, `${inner}readonly ${key}${isRequired ? "" : "?"}: ${type(property, inner)}`]
  })
  return `{\n${lines.join("\n")}\n${indent}}`
}

function type(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return definitionName(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(" | ")
  if (schema.oneOf !== undefined) return schema.oneOf.map((each) => type(each, indent)).join(" | ")
  switch (schema.type) {
    case "array":
      return list(type(schema.items ?? {}, indent))
    case "object":
      return schema.properties === undefined ? record(schema, indent) : object(schema, indent)
    case "integer":
      return "number"
    case undefined:
      return "unknown"
    default:
      return schema.type
  }
}

function list(items: string): string {
  return items.includes("|") ? `readonly (${items})[]` : `readonly ${items}[]`
}

function record(schema: Schema, indent: string): string {
  const values = schema.additionalProperties
  return `Readonly<Record<string, ${typeof values === "object" ? type(values, indent) : "unknown"}>>`
}

const pythonOpening = `"""The required fields of each header from the server, and their types.

Generated from protocol/worker/frames.schema.json by \`npm run generate -w protocol\`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping

Fields = Mapping[str, type | tuple[type, ...]]
`

/** The text of `header_fields.py`: one table of frames by their type, one of calls by their method. */
export function pythonHeaderFields(): string {
  const calls = objectsIn("ServerCall")
  const frames = objectsIn("ServerFrame").filter((each) => !calls.includes(each))
  return `${pythonOpening}${pythonTable("frames", "type", frames)}${pythonTable("calls", "method", calls)}`
}

/** The object schemas of a definition's alternatives, following all references. */
function objectsIn(name: string): Schema[] {
  const { oneOf = [], ...schema } = definitions[name] ?? {}
  return oneOf.length === 0
    ? [definitions[name] ?? schema]
    : oneOf.flatMap(({ $ref = "" }) => objectsIn(definitionName($ref)))
}

function pythonTable(table: string, key: "type" | "method", schemas: readonly Schema[]): string {
  const rows = schemas.map(({ required = [], properties = {} }) => {
    const fields = required.filter((field) => field !== "type" && field !== "method")
    const kinds = fields.map((field) => `        "${field}": ${pythonKind(properties[field] ?? {})},\n`)
    return `    "${properties[key]?.const}": {${kinds.length === 0 ? "" : `\n${kinds.join("")}    `}},\n`
  })
  return `\n${table}: Mapping[str, Fields] = {\n${rows.join("")}}\n`
}

const pythonKinds = {
  string: "str",
  integer: "int",
  number: "(int, float)",
  boolean: "bool",
  array: "list",
  object: "dict",
}

function pythonKind({ $ref, type, enum: values, const: value }: Schema): string {
  if ($ref !== undefined) return pythonKind(definitions[definitionName($ref)] ?? {})
  const example = value ?? values?.[0]
  if (example !== undefined) return typeof example === "string" ? "str" : "int"
  return type === undefined ? "object" : pythonKinds[type]
}
