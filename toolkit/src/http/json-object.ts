import { z } from "zod"

/** What a user sends as a JSON object: as it is. A copy, which `z.record` makes, would not have a key `__proto__`. */
export const jsonObject = z.record(z.string(), z.unknown())

const { parse } = jsonObject._zod
jsonObject._zod.parse = (payload, context) => (isPlainObject(payload.value) ? payload : parse(payload, context))
// What other schemas call; it is the same function while a schema has no checks.
jsonObject._zod.run = jsonObject._zod.parse

function isPlainObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
