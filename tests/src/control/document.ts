/** Reads an OpenAPI document: its operations, and which fields their bodies and replies have. Pure. */

export type Schema = Readonly<Record<string, unknown>>

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

export interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export const bodySchema = (operation: Operation): Schema => jsonOf(operation.requestBody)

/** Of the first status of success. */
export function replySchema({ responses }: Operation): Schema {
  const success = Object.keys(responses).find((status) => /^2/.test(status))
  return jsonOf(success === undefined ? undefined : responses[success])
}

const jsonOf = (content: Content | undefined): Schema => content?.content?.["application/json"]?.schema ?? {}

/** The schema of a field; a dot leads inside objects, and lists are looked through. */
export function fieldOf(document: Document, schema: Schema, path: string): Schema | undefined {
  return path.split(".").reduce<Schema | undefined>((found, name) => {
    return found && propertiesOf(document, found)[name]
  }, schema)
}

function propertiesOf(document: Document, schema: Schema): Readonly<Record<string, Schema>> {
  const { $ref, items, properties, anyOf, oneOf, allOf } = schema as {
    $ref?: string
    items?: Schema
    properties?: Readonly<Record<string, Schema>>
  } & Readonly<Record<"anyOf" | "oneOf" | "allOf", readonly Schema[] | undefined>>
  if ($ref !== undefined) return propertiesOf(document, document.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {})
  if (items) return propertiesOf(document, items)
  const parts = [...(anyOf ?? []), ...(oneOf ?? []), ...(allOf ?? [])].map((part) => propertiesOf(document, part))
  return Object.assign({}, properties, ...parts)
}
