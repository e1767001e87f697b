/**
 * Generates code from the schemas of this package, so that each message is declared once: types, validators, and for the worker protocol
 * tables of them, for both languages (decisions 0079 and 0088). Each function takes a schema's `$defs`.
 */
import { Ajv } from "ajv"
import standalone from "ajv/dist/standalone/index.js"

/** The keywords that the schemas use. Ajv checks all of them; Python's validators refuse those that no frame has (`isValid`). */
export interface Schema {
  readonly description?: string
  readonly type?: "string" | "integer" | "number" | "boolean" | "array" | "object" | "null"
  readonly const?: string | number | boolean
  readonly enum?: readonly (string | number | null)[]
  readonly oneOf?: readonly Schema[]
  readonly $ref?: string
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly maxProperties?: number
  readonly propertyNames?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

export type Definitions = Readonly<Record<string, Schema>>

/**
 * By the name of a table: the definition whose alternatives it lists, the field that identifies one of them, and those that another table
 * has checked before.
 */
export type Tables = Readonly<
  Record<string, { readonly of: string; readonly by: string; readonly checked?: readonly string[] }>
>

const definitionName = (ref: string): string => ref.slice("#/$defs/".length)

/** The text of a TypeScript file with a type for each definition. */
export function typesOf(definitions: Definitions, opening: string): string {
  const types = Object.entries(definitions).map(([name, schema]) => declaration(name, schema))
  return [opening, ...types].join("\n")
}

function declaration(name: string, schema: Schema): string {
  const doc = schema.description === undefined ? "" : `/** ${schema.description} */\n`
  if (schema.properties !== undefined) return `${doc}export interface ${name} ${object(schema, "")}\n`
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

/** The text of a TypeScript file with one table of validators for each of `tables`. Ajv writes the validators. */
export function validatorsOf(definitions: Definitions, tables: Tables, opening: string): string {
  const ajv = new Ajv({ code: { source: true, esm: true }, inlineRefs: false })
  const rows = Object.entries(tables).map(([table, { of, by }]) => [table, rowsOf(definitions, of, by)] as const)
  const used = [...new Set(rows.flatMap(([, each]) => each.map(({ name }) => name)))]
  const functions = functionsOf(ajv, definitions, used)
  const printed = rows.map(
    ([table, each]) =>
      `export const ${table}: Validators = {\n  __proto__: null,\n${each.map(({ key, name }) => `  "${key}": ${name},\n`).join("")}}\n`,
  )
  return `${opening}${functions}\n${printed.join("")}`
}

/**
 * The text of a TypeScript file with one validator for each of `names`. A validator also drops the fields that a message's definition does
 * not have, so that nothing unchecked goes on.
 */
export function receiversOf(definitions: Definitions, names: readonly string[], opening: string): string {
  // Ajv would import a function that counts code points; a length in units of UTF-16 limits as well.
  const ajv = new Ajv({
    code: { source: true, esm: true },
    inlineRefs: false,
    removeAdditional: true,
    unicode: false,
    logger: false,
  })
  return `${opening}${functionsOf(ajv, closed(definitions), names)}\n`
}

/** Objects with named fields have no others. */
const closed = (definitions: Definitions): Definitions =>
  JSON.parse(JSON.stringify(definitions), (_, value) =>
    value?.type === "object" && value.properties !== undefined ? { ...value, additionalProperties: false } : value,
  )

function functionsOf(ajv: Ajv, definitions: Definitions, names: readonly string[]): string {
  ajv.addSchema({ $id: "frames", $defs: withoutDocs(definitions) })
  const code = standalone.default(ajv, Object.fromEntries(names.map((name) => [name, `frames#/$defs/${name}`])))
  return code
    .replace(/^"use strict";/, "")
    .replaceAll(/(?<=[;}])(?=(?:export const|const schema\d+|function validate\d+)\b)/g, "\n")
}

/** Ajv copies a schema into the code. */
function withoutDocs(definitions: Definitions): unknown {
  return JSON.parse(
    JSON.stringify(definitions, (key, value) =>
      key === "description" && typeof value === "string" ? undefined : value,
    ),
  )
}

/** The objects among a definition's alternatives, following all references, with the value of the field that identifies them. */
function rowsOf(definitions: Definitions, of: string, by: string): { key: string; name: string; schema: Schema }[] {
  const schema = definitions[of] ?? {}
  const key = schema.properties?.[by]?.const
  if (key !== undefined) return [{ key: String(key), name: of, schema }]
  return (schema.oneOf ?? []).flatMap(({ $ref = "" }) => rowsOf(definitions, definitionName($ref), by))
}

/** The text of a Python file with one table for each of `tables`: by key, the names of required fields, and a validator for each field. */
export function pythonValidatorsOf(definitions: Definitions, tables: Tables, opening: string): string {
  const printed = Object.entries(tables).map(([table, { of, by, checked = [] }]) => {
    const isOwn = (name: string) => name !== by && !checked.includes(name)
    const rows = rowsOf(definitions, of, by).map(({ key, schema: { required = [], properties = {} } }) => {
      const fields = Object.entries(properties).filter(([name]) => isOwn(name))
      const checks = fields.map(([name, each]) => `            "${name}": lambda v: ${isValid(each, "v")},\n`)
      const names = required.filter(isOwn).map((name) => `"${name}"`)
      return `    "${key}": (\n        [${names.join(", ")}],\n        {\n${checks.join("")}        },\n    ),\n`
    })
    return `\n${table}: Mapping[str, Fields] = {\n${rows.join("")}}\n`
  })
  const text = printed.join("")
  return `${opening}${checksIn(definitions, text)}${text}`
}

/** The functions for the definitions that Python code refers to, and for those that these refer to. */
function checksIn(definitions: Definitions, text: string): string {
  const found = new Map<string, string>()
  const visit = (code: string) => {
    for (const [, name = ""] of code.matchAll(/\bis_(\w+)\(/g)) {
      if (found.has(name)) continue
      const check = `\n\ndef is_${name}(v: Any) -> bool:\n    return ${isValid(definitions[name] ?? {}, "v")}\n`
      found.set(name, check)
      visit(check)
    }
  }
  visit(text)
  return [...found.values()].join("")
}

const python = (value: string | number | boolean | null): string =>
  value === null ? "None" : typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value)

const pythonTypes = {
  string: "str",
  integer: "int",
  boolean: "bool",
  array: "list",
  object: "dict",
  null: "type(None)",
}

// No frame has them. One that gets them would be checked in one language only.
const notInPython = ["maxItems", "maxLength", "pattern", "maxProperties", "propertyNames"] as const

/** A Python expression: whether `v`, a parsed JSON value, is valid. A bool is an int in Python, so types are compared exactly. */
function isValid(schema: Schema, v: string): string {
  const unknown = notInPython.find((keyword) => schema[keyword] !== undefined)
  if (unknown !== undefined) throw new Error(`Python's validators do not know the keyword ${unknown}`)
  if (schema.$ref !== undefined) return `is_${definitionName(schema.$ref)}(${v})`
  if (schema.oneOf !== undefined) return `(${schema.oneOf.map((each) => isValid(each, v)).join(" or ")})`
  if (typeof schema.const === "boolean") return `${v} is ${python(schema.const)}`
  if (schema.const !== undefined) return `${v} == ${python(schema.const)}`
  if (schema.enum !== undefined) return `${v} in [${schema.enum.map(python).join(", ")}]`
  if (schema.type === undefined) return "True"
  const ofType = schema.type === "number" ? `type(${v}) in (int, float)` : `type(${v}) is ${pythonTypes[schema.type]}`
  return [ofType, ...limits(schema, v), ...contents(schema, v)].join(" and ")
}

const limits = ({ minimum, maximum, minItems }: Schema, v: string): string[] => [
  ...(minimum === undefined ? [] : [`${v} >= ${minimum}`]),
  ...(maximum === undefined ? [] : [`${v} <= ${maximum}`]),
  ...(minItems === undefined ? [] : [`len(${v}) >= ${minItems}`]),
]

function contents({ items, properties = {}, required = [], additionalProperties }: Schema, v: string): string[] {
  const inner = `${v.replace(/\W.*/, "")}_`
  const each = (schema: Schema, values: string) => {
    const check = isValid(schema, inner)
    return check === "True" ? [] : [`all(${check} for ${inner} in ${values})`]
  }
  const missing = required.filter((name) => properties[name] === undefined).map((name) => `"${name}" in ${v}`)
  const fields = Object.entries(properties).map(([name, schema]) => {
    const check = isValid(schema, `${v}["${name}"]`)
    return required.includes(name) ? `"${name}" in ${v} and ${check}` : `("${name}" not in ${v} or ${check})`
  })
  return [
    ...(items === undefined ? [] : each(items, v)),
    ...missing,
    ...fields,
    ...(typeof additionalProperties === "object" ? each(additionalProperties, `${v}.values()`) : []),
  ]
}
