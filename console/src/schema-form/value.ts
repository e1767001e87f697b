/** The value of a form: what it starts with, and what is wrong with it. Pure. */
import type { Field } from "./fields.js"

/**
 * The value that a form starts with. Optional fields without a default stay absent, so that only what a person entered is sent.
 * @returns undefined  nothing to start with, such as a text without a default
 */
export function initialOf(field: Field): unknown {
  if (field.initial !== undefined) return field.initial
  switch (field.kind) {
    case "constant":
      return field.value
    case "object":
      return Object.fromEntries(
        field.properties
          .filter(
            ({ isRequired, field: property }) =>
              isRequired || property.initial !== undefined || property.kind === "constant",
          )
          .map(({ name, field: property }) => [name, initialOf(property)])
          .filter(([, value]) => value !== undefined),
      )
    case "list":
      return Array.from({ length: field.minItems }, () => initialOf(field.item))
    case "boolean":
      return false
    case "variants":
      return initialOf(field.variants[0]?.field ?? { ...field, kind: "json" })
    default:
      return undefined
  }
}

/** Stands for a value whose text is not valid JSON. It is never sent. */
export class InvalidJson {
  constructor(readonly problem: string) {}

  /** JSON of a form that does not check for problems has no such property. */
  toJSON(): undefined {
    return undefined
  }
}

/** Whether a part of the value is no JSON. */
export const hasInvalid = (value: unknown): boolean =>
  value instanceof InvalidJson || (typeof value === "object" && value !== null && Object.values(value).some(hasInvalid))

export interface FieldProblem {
  /** Names and numbers from the root of the value. */
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** What must be changed before the value can be sent. The server judges more than this: formats, and what it alone knows. */
export function problemsOf(field: Field, value: unknown, path: readonly (string | number)[] = []): FieldProblem[] {
  const problem = (message: string): FieldProblem[] => [{ path, message }]
  if (value instanceof InvalidJson) return problem(value.problem)
  switch (field.kind) {
    case "text":
      if (typeof value !== "string") return problem("Enter a text.")
      if (value.length < field.minLength)
        return problem(field.minLength === 1 ? "Enter a text." : `Enter at least ${field.minLength} characters.`)
      if (value.length > field.maxLength) return problem(`Enter at most ${field.maxLength} characters.`)
      return matches(field.pattern, value) ? [] : problem(`Enter a text that matches ${field.pattern}.`)
    case "number":
      if (typeof value !== "number" || Number.isNaN(value)) return problem("Enter a number.")
      if (field.isInteger && !Number.isInteger(value)) return problem("Enter a whole number.")
      if (value < field.minimum) return problem(`Enter ${field.minimum} or more.`)
      return value > field.maximum ? problem(`Enter ${field.maximum} or less.`) : []
    case "boolean":
      return typeof value === "boolean" ? [] : problem("Choose yes or no.")
    case "choice":
      return field.choices.some((choice) => isSame(choice.value, value)) ? [] : problem("Choose one.")
    case "constant":
      return isSame(field.value, value) ? [] : problem(`Must be ${JSON.stringify(field.value)}.`)
    case "object":
      if (!isObject(value)) return problem("Fill in the fields.")
      return field.properties.flatMap(({ name, isRequired, field: property }) => {
        const given = value[name]
        if (given === undefined) return isRequired ? missing(property, [...path, name]) : []
        return given === null && !isRequired ? [] : problemsOf(property, given, [...path, name])
      })
    case "list":
      if (!Array.isArray(value)) return problem("Enter a list.")
      if (value.length < field.minItems) return problem(`Add at least ${field.minItems}.`)
      if (value.length > field.maxItems) return problem(`Keep at most ${field.maxItems}.`)
      return value.flatMap((item, n) => problemsOf(field.item, item, [...path, n]))
    case "variants": {
      const variant = field.variants[variantOf(field, value)]
      return variant ? problemsOf(variant.field, value, path) : []
    }
    case "json":
      return value === undefined ? problem("Enter JSON.") : []
  }
}

const missing = (field: Field, path: readonly (string | number)[]): FieldProblem[] =>
  field.kind === "object" ? problemsOf(field, {}, path) : problemsOf(field, undefined, path)

/** The variant that a value has: the first without problems, else the first whose constants agree, else the first. */
export function variantOf(field: Extract<Field, { kind: "variants" }>, value: unknown): number {
  const asJson =
    value instanceof InvalidJson ? field.variants.findIndex((variant) => variant.field.kind === "json") : -1
  if (asJson >= 0) return asJson
  const valid = field.variants.findIndex((variant) => problemsOf(variant.field, value).length === 0)
  if (valid >= 0) return valid
  const tagged = field.variants.findIndex((variant) => hasConstantsOf(variant.field, value))
  if (tagged >= 0) return tagged
  return Math.max(
    0,
    field.variants.findIndex((variant) => isOfKind(variant.field, value)),
  )
}

function hasConstantsOf(field: Field, value: unknown): boolean {
  if (field.kind !== "object" || !isObject(value)) return false
  const constants = field.properties.filter((property) => property.field.kind === "constant")
  return (
    constants.length > 0 &&
    constants.every(({ name, field: one }) => one.kind === "constant" && isSame(one.value, value[name]))
  )
}

function isOfKind({ kind }: Field, value: unknown): boolean {
  if (kind === "object") return isObject(value)
  if (kind === "list") return Array.isArray(value)
  return (kind === "text" && typeof value === "string") || kind === typeof value
}

/** Whether two JSON values are equal, also with another order of keys. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, n) => isSame(item, other[n]))
  if (!isObject(one) || !isObject(other)) return Object.is(one, other)
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && isSame(one[key], other[key]))
}

/** The pattern is the graph's: one that is no regular expression for a browser judges nothing. */
function matches(pattern: string | undefined, text: string): boolean {
  if (pattern === undefined) return true
  try {
    return new RegExp(pattern, "u").test(text)
  } catch {
    return true
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
