/** Prints the TypeScript types of the frames from their JSON Schema, so that both say the same. */
import { definitionName, definitions, type Schema } from "./schema.js"

const opening = `/**
 * The headers of the worker protocol's frames, for both sides; \`worker/README.md\` tells the conversation.
 * Made from \`worker/frames.schema.json\` by \`npm run generate -w protocol\`; a test keeps the two equal.
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
