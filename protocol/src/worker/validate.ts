/** Checks headers with the generated validators. */

/** A function of `validators.ts`. After it has returned false, `errors` has the first problem. */
export interface Validator {
  (value: unknown): boolean
  errors?: readonly { readonly instancePath: string; readonly message?: string }[] | null
}

/** By `type` or `method` of a header. The objects have no prototype, so each key is one of theirs. */
export type Validators = Readonly<Record<string, Validator>>

/** Whether a parsed JSON value is an object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * The first problem of a header, such as `frame/run_id must be string`; undefined when it is valid.
 * @param by  the field that names the header's validator
 */
export function problemOf(
  validators: Validators,
  by: "type" | "method",
  header: Readonly<Record<string, unknown>>,
): string | undefined {
  const key = header[by]
  const validate = typeof key === "string" ? validators[key] : undefined
  if (validate === undefined) return `frame/${by} must be one of ${Object.keys(validators).join(", ")}`
  if (validate(header)) return undefined
  const { instancePath = "", message = "is invalid" } = validate.errors?.[0] ?? {}
  return `frame${instancePath} ${message}`
}
