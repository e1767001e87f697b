/**
 * Random ids find nothing: a document whose path parameters also offer ids of things that are there, so that a fuzzer
 * gets behind the first 404. Pure.
 */

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is walked, not described
type Json = any

export type RealIds = Readonly<Record<string, readonly string[]>>

/** @param ids  by name of the path parameter or body field, such as `thread_id` */
export function withRealIds(document: Json, ids: RealIds): Json {
  const copy = structuredClone(document)
  for (const operations of Object.values<Json>(copy.paths)) {
    for (const operation of Object.values<Json>(operations)) {
      for (const parameter of operation.parameters ?? []) {
        const real = ids[parameter.name]
        if (parameter.in === "path" && real) parameter.schema = offering(parameter.schema, real)
      }
    }
  }
  visit(copy, (properties) => {
    for (const [name, real] of Object.entries(ids)) {
      if (properties[name]) properties[name] = offering(properties[name], real)
    }
    // A run that may begin in a year is waited for as long.
    if (properties.after_seconds) properties.after_seconds = { type: "number", minimum: 0, maximum: 0.1 }
  })
  return copy
}

const offering = (schema: Json, real: readonly string[]): Json => ({ anyOf: [{ type: "string", enum: real }, schema] })

function visit(node: Json, onProperties: (properties: Json) => void): void {
  if (typeof node !== "object" || node === null) return
  if (typeof node.properties === "object") onProperties(node.properties)
  for (const child of Object.values(node)) visit(child, onProperties)
}
