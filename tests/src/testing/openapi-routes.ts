/** What an agent server's /openapi.json says may be asked: its routes, with a test of what their schemas allow. */
import assert from "node:assert/strict"
import { Validator } from "@seriousme/openapi-schema-validator"
import { Ajv2020 } from "ajv/dist/2020.js"

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema?: Readonly<Record<string, unknown>>
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object; example?: object }>> }
  readonly responses?: Readonly<Record<string, unknown>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, object>> }
}

export interface Route {
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: RouteBody | undefined
}

export interface RouteBody {
  /** Empty where another route before takes the same body: their fields are read by the same code. */
  readonly fields: readonly string[]
  /** A body that the schema allows, with little in it. */
  readonly least: Readonly<Record<string, unknown>>
  allows(body: unknown): boolean
}

interface Described {
  readonly operationId: string
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>
  >
}

type Paths<O> = Readonly<Record<string, Readonly<Record<string, O>>>>

/** By `GET /threads/{thread_id}`. */
export const operationsOf = <O>({ paths }: { readonly paths: Paths<O> }): ReadonlyMap<string, O> =>
  new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  )

/** Asserts that a document is OpenAPI 3.1, that each operation has a name of its own, and that all failures have this shape. */
export async function assertWellFormed(document: { readonly paths: Paths<Described> }, failure: string): Promise<void> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never)
  assert.deepEqual([valid, errors], [true, undefined])
  const operations = operationsOf(document)
  assert.equal(new Set([...operations.values()].map(({ operationId }) => operationId)).size, operations.size)
  for (const [name, { responses }] of operations) {
    for (const [status, { content }] of Object.entries(responses)) {
      const { $ref } = (content?.["application/json"]?.schema ?? {}) as { readonly $ref?: string }
      if (Number(status) >= 400) assert.equal($ref, `#/components/schemas/${failure}`, `${name} ${status}`)
    }
  }
}

/** All routes of a document, each with what it takes. */
export function routesOf(document: Document): Route[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
  ajv.addSchema(document, "document")
  const seen = new Set<string>()
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [], requestBody }]) => {
      const json = requestBody?.content["application/json"]
      const pointer = `document#/paths/${escaped(path)}/${method}/requestBody/content/application~1json/schema`
      const body = json && bodyOf(document, json, ajv.compile({ $ref: pointer }))
      const isKnown = seen.has(JSON.stringify(json?.schema))
      seen.add(JSON.stringify(json?.schema))
      return { method: method.toUpperCase(), path, parameters, body: body && isKnown ? { ...body, fields: [] } : body }
    }),
  )
}

const escaped = (path: string): string => encodeURIComponent(path.replaceAll("~", "~0").replaceAll("/", "~1"))

type Schema = Readonly<Record<string, unknown>>

function bodyOf(
  document: Document,
  { schema, example }: { schema: object; example?: object },
  allows: (body: unknown) => boolean,
): RouteBody {
  const { properties = {}, required = [] } = resolved(document, schema) as {
    properties?: Readonly<Record<string, Schema>>
    required?: readonly string[]
  }
  const least = Object.fromEntries(required.map((name) => [name, someValue(document, properties[name] ?? {})]))
  return {
    fields: Object.keys(properties),
    least: { ...least, ...example },
    allows,
  }
}

function resolved(document: Document, schema: object): Schema {
  const { $ref, allOf, anyOf, oneOf } = schema as { $ref?: string } & Record<string, object[] | undefined>
  if ($ref !== undefined) return resolved(document, document.components?.schemas?.[$ref.split("/").at(-1) ?? ""] ?? {})
  const parts = allOf ?? anyOf?.slice(0, 1) ?? oneOf?.slice(0, 1)
  return parts ? Object.assign({}, schema, ...parts.map((part) => resolved(document, part))) : (schema as Schema)
}

function someValue(document: Document, schema: object): unknown {
  const { type, enum: choices, items, format } = resolved(document, schema) as Record<string, unknown>
  if (Array.isArray(choices)) return choices[0]
  const first = Array.isArray(type) ? type[0] : type
  if (first === "array") return items === undefined ? [] : [someValue(document, items as object)]
  if (first === "object") return {}
  if (first === "integer" || first === "number") return 1
  if (first === "boolean") return true
  return format === "uuid" ? "00000000-0000-4000-8000-000000000000" : "x"
}
