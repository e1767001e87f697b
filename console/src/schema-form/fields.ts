/** The fields of a form, from a JSON schema. What a form cannot express becomes a field for raw JSON. Pure. */

export type JsonSchema = Readonly<Record<string, unknown>> | boolean

interface Common {
  /** Shown beside the field; undefined at the root. */
  readonly label: string | undefined
  readonly description: string | undefined
  /** The schema's `default`; undefined without one. */
  readonly initial: unknown
}

export interface Choice {
  readonly label: string
  readonly value: unknown
}

export interface ObjectField extends Common {
  readonly kind: "object"
  readonly properties: readonly { readonly name: string; readonly isRequired: boolean; readonly field: Field }[]
}

export type Field =
  | (Common & {
      readonly kind: "text"
      readonly isLong: boolean
      readonly format: string | undefined
      readonly minLength: number
      readonly maxLength: number
      readonly pattern: string | undefined
    })
  | (Common & {
      readonly kind: "number"
      readonly isInteger: boolean
      readonly minimum: number
      readonly maximum: number
    })
  | (Common & { readonly kind: "boolean" })
  | (Common & { readonly kind: "choice"; readonly choices: readonly Choice[] })
  | (Common & { readonly kind: "constant"; readonly value: unknown })
  | ObjectField
  | (Common & { readonly kind: "list"; readonly item: Field; readonly minItems: number; readonly maxItems: number })
  | (Common & {
      readonly kind: "variants"
      readonly variants: readonly { readonly label: string; readonly field: Field }[]
    })
  | (Common & { readonly kind: "json" })

// A schema that contains itself, such as a tree, is edited as JSON below this depth.
const maxDepth = 6

/** The form of a schema. Local references (`#/$defs/…`) are resolved. */
export const fieldOf = (schema: JsonSchema, label?: string): Field => read(schema, { root: schema, label, depth: 0 })

interface Place {
  readonly root: JsonSchema
  readonly label: string | undefined
  readonly depth: number
}

function read(given: JsonSchema, place: Place): Field {
  const schema = merged(resolved(given, place.root), place.root)
  const common: Common = {
    label: textOf(schema.title) ?? place.label,
    description: textOf(schema.description),
    initial: schema.default,
  }
  if (place.depth > maxDepth) return { ...common, kind: "json" }
  if ("const" in schema) return { ...common, kind: "constant", value: schema.const }
  const choices = choicesOf(schema, place.root)
  if (choices) return { ...common, kind: "choice", choices }
  const variants = listOf(schema.oneOf) ?? listOf(schema.anyOf)
  if (variants) return variantsOf(variants, common, place)
  return ofType(schema, common, place)
}

function ofType(schema: SchemaObject, common: Common, place: Place): Field {
  switch (typeOf(schema)) {
    case "string":
      return {
        ...common,
        kind: "text",
        isLong: Number(schema.maxLength ?? 0) > 200 || schema.format === "textarea",
        format: textOf(schema.format),
        minLength: numberOr(schema.minLength, 0),
        maxLength: numberOr(schema.maxLength, Number.POSITIVE_INFINITY),
        pattern: textOf(schema.pattern),
      }
    case "number":
    case "integer":
      return {
        ...common,
        kind: "number",
        isInteger: typeOf(schema) === "integer",
        minimum: numberOr(schema.minimum, Number.NEGATIVE_INFINITY),
        maximum: numberOr(schema.maximum, Number.POSITIVE_INFINITY),
      }
    case "boolean":
      return { ...common, kind: "boolean" }
    case "object":
      return objectOf(schema, common, place)
    case "array": {
      const { items } = schema
      if (!isSchema(items)) return { ...common, kind: "json" }
      const item = read(items, { root: place.root, label: undefined, depth: place.depth + 1 })
      const [minItems, maxItems] = [numberOr(schema.minItems, 0), numberOr(schema.maxItems, Number.POSITIVE_INFINITY)]
      return { ...common, kind: "list", item, minItems, maxItems }
    }
    default:
      return { ...common, kind: "json" }
  }
}

function objectOf(schema: SchemaObject, common: Common, { root, depth }: Place): Field {
  const properties = schema.properties
  if (!isObject(properties) || Object.keys(properties).length === 0) return { ...common, kind: "json" }
  const required = new Set(listOf(schema.required) ?? [])
  return {
    ...common,
    kind: "object",
    properties: Object.entries(properties).map(([name, property]) => ({
      name,
      isRequired: required.has(name),
      field: read(isSchema(property) ? property : true, { root, label: name, depth: depth + 1 }),
    })),
  }
}

/** Alternatives: one alone, or one beside null, is no choice. */
function variantsOf(schemas: readonly unknown[], common: Common, { root, depth }: Place): Field {
  const real = schemas.filter(isSchema).filter((schema) => typeOf(resolved(schema, root)) !== "null")
  const fields = real.map((schema) => read(schema, { root, label: undefined, depth: depth + 1 }))
  const [only] = fields
  if (!only) return { ...common, kind: "json" }
  if (fields.length === 1) {
    return {
      ...only,
      label: common.label ?? only.label,
      description: common.description ?? only.description,
      initial: common.initial ?? only.initial,
    }
  }
  const variants = fields.map((field, n) => ({
    label: field.label ?? tagOf(field) ?? nameOfKind(field, n),
    field: { ...field, label: undefined },
  }))
  return { ...common, kind: "variants", variants }
}

/** The constant that tells a variant from the others, such as `type: "card"`. */
function tagOf(field: Field): string | undefined {
  if (field.kind !== "object") return undefined
  const tag = field.properties.map((property) => property.field).find(({ kind }) => kind === "constant")
  return tag?.kind === "constant" ? String(tag.value) : undefined
}

const kindNames: Readonly<Record<string, string>> = {
  text: "Text",
  number: "Number",
  boolean: "Yes or no",
  list: "List",
  object: "Object",
  json: "JSON",
}
const nameOfKind = ({ kind }: Field, n: number): string => kindNames[kind] ?? `Variant ${n + 1}`

function choicesOf(schema: SchemaObject, root: JsonSchema): Choice[] | undefined {
  const values = listOf(schema.enum)
  if (values) return values.map((value) => ({ label: shown(value), value }))
  const variants = listOf(schema.oneOf) ?? listOf(schema.anyOf)
  const constants = variants?.filter(isSchema).map((one) => resolved(one, root))
  if (!constants?.length || !constants.every((one) => "const" in one)) return undefined
  return constants.map((one) => ({ label: textOf(one.title) ?? shown(one.const), value: one.const }))
}

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

type SchemaObject = Readonly<Record<string, unknown>>

/** Follows references inside the document; another document's are left, and become JSON. */
function resolved(schema: JsonSchema, root: JsonSchema): SchemaObject {
  let at: unknown = schema
  for (let hops = 0; hops < maxDepth && isObject(at) && typeof at.$ref === "string"; hops++) {
    const { $ref, ...beside } = at
    const target = pointed(root, String($ref))
    at = isObject(target) ? { ...target, ...beside } : beside
  }
  return isObject(at) ? at : {}
}

function pointed(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined
  const names = reference.slice(1).split("/").filter(Boolean)
  const nameOf = (part: string) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
  return names.reduce((at: unknown, part) => (isObject(at) ? at[nameOf(part)] : undefined), root)
}

/** Puts the parts of `allOf` together: properties and requirements are joined, other keywords of later parts win. */
function merged(schema: SchemaObject, root: JsonSchema): SchemaObject {
  const parts = listOf(schema.allOf)?.filter(isSchema)
  if (!parts) return schema
  const { allOf: _, ...own } = schema
  const all = [...parts.map((part) => merged(resolved(part, root), root)), own]
  const properties = Object.assign({}, ...all.map((part) => part.properties ?? {}))
  const required = all.flatMap((part) => listOf(part.required) ?? [])
  return {
    ...Object.assign({}, ...all),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

function typeOf(schema: SchemaObject): string | undefined {
  const { type } = schema
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== "null" || type === "null")
  if (types.length === 1 && typeof types[0] === "string") return types[0]
  if (types.length > 1) return undefined
  if (isObject(schema.properties)) return "object"
  return schema.items === undefined ? undefined : "array"
}

const isObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isSchema = (value: unknown): value is JsonSchema => typeof value === "boolean" || isObject(value)
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)
const listOf = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined)
const numberOr = (value: unknown, otherwise: number): number => (typeof value === "number" ? value : otherwise)
