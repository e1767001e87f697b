/**
 * Numbers that `JSON.parse` and `JSON.stringify` would make another value of: integers above 2^53, and floats that are printed as
 * integers, such as `1.0`, `-0.0` and `1e20`. They belong to users, so they keep their text from the body to the graph and back
 * (decision 0057). Pure.
 */
import type { z } from "zod"
import { checkForeign } from "../text/check-foreign.js"
import { printAsIs } from "./json-printer.js"

/**
 * A number that keeps its text. Only `toJsonText` prints it: `JSON.stringify` throws rather than print another number. It has no own
 * fields, so what walks through a value finds nothing in it. It is not a function, which a user's key `toJSON` or `then` would call.
 */
export class ExactNumber {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get text(): string {
    return this.#text
  }

  /** The nearest double. */
  get number(): number {
    return Number(this.#text)
  }

  toJSON(): string {
    return printAsIs(this.#text, "exact")
  }
}

export const isExactNumber = (value: unknown): value is ExactNumber => value instanceof ExactNumber

type Path = readonly (string | number)[]

export interface FoundNumber {
  readonly path: Path
  readonly text: string
}

interface Wanted {
  readonly isWanted: (number: string) => boolean
  /** How many are returned at most. */
  readonly most: number
}

/**
 * The first wanted exact numbers in a value, each with its path. A body may have millions of numbers, and each of them hundreds of levels deep:
 * only the paths of those that are returned are made.
 * @param at  the path of the value
 */
export function findExactNumbers(value: unknown, at: Path, { isWanted, most }: Wanted): FoundNumber[] {
  const found: FoundNumber[] = []
  const path = [...at]
  const lookAt = (key: string | number, each: unknown): void => {
    path.push(key)
    look(each)
    path.pop()
  }
  const look = (each: unknown): void => {
    if (typeof each !== "object" || each === null || found.length >= most) return
    if (isExactNumber(each)) {
      if (isWanted(each.text)) found.push({ path: [...path], text: each.text })
    } else if (Array.isArray(each)) {
      for (const [n, item] of each.entries()) lookAt(n, item)
    } else {
      for (const [key, item] of Object.entries(each)) lookAt(key, item)
    }
  }
  look(value)
  return found
}

const hasExactNumbers = (value: unknown): boolean =>
  typeof value === "object" && value !== null && (isExactNumber(value) || Object.values(value).some(hasExactNumbers))

/** A copy with doubles in place of the exact numbers, for programs that know no others. A value without them is not copied. */
export const withPlainNumbers = <Value>(value: Value): Value =>
  hasExactNumbers(value) ? (plainCopy(value) as Value) : value

function plainCopy(value: unknown): unknown {
  if (isExactNumber(value)) return value.number
  if (Array.isArray(value)) return value.map(plainCopy)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plainCopy(each)]))
}

export interface Checked<S extends z.ZodType> {
  readonly result: z.ZodSafeParseResult<z.output<S>>
  /** The value that has the problems of the result. */
  readonly value: unknown
}

// A round converts all numbers that the one before has found; no schema hides them behind this many steps.
const maxRounds = 10

/**
 * Checks a value that may have exact numbers. Where the schema reads a number itself, it gets a plain one; where it lets everything pass,
 * the number stays exact.
 */
export function checkExact<S extends z.ZodType>(schema: S, value: unknown): Checked<S> {
  if (!hasExactNumbers(value)) return { result: checkForeign(schema, value), value }
  // Schemas of objects would take an exact number for an object without fields. So they see numbers first.
  const plain = plainCopy(value)
  const first = checkForeign(schema, plain)
  if (!first.success) return { result: first, value: plain }
  let exact = value
  for (let round = 0; ; round++) {
    const result = schema.safeParse(exact)
    if (result.success || round === maxRounds) return { result, value: exact }
    for (const path of result.error.issues.flatMap(pathsOf)) exact = withPlainNumberAt(exact, path)
  }
}

/** Where a schema did not get what it reads. For a union these are places inside its branches. */
function pathsOf(issue: z.core.$ZodIssue): PropertyKey[][] {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [issue.path]
  return issue.errors
    .flat()
    .flatMap(pathsOf)
    .map((path) => [...issue.path, ...path])
}

type Container = Record<PropertyKey, unknown>

/** Replaces the exact number at a path; the containers on the way are changed in place. What lies below the path stays exact. */
function withPlainNumberAt(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  if (isExactNumber(value)) return value.number
  if (key === undefined || typeof value !== "object" || value === null) return value
  if (Object.hasOwn(value, key)) set(value, key, withPlainNumberAt((value as Container)[key], rest))
  return value
}

/** Unlike an assignment this also sets an own key `__proto__`. */
const set = (container: object, key: PropertyKey, value: unknown): void =>
  void Object.defineProperty(container, key, { value, configurable: true, enumerable: true, writable: true })

/**
 * Puts the exact numbers of a value back into a copy that was made by a program whose numbers are doubles, wherever the copy still has
 * the double at the same place. Numbers that were plain stay plain.
 */
export function restoreExact(original: unknown, copy: unknown): unknown {
  if (isExactNumber(original)) return original.number === copy ? original : copy
  if (typeof original === "number" && isExactNumber(copy)) return copy.number
  if (typeof original !== "object" || original === null || typeof copy !== "object" || copy === null) return copy
  for (const [key, each] of Object.entries(original)) {
    if (Object.hasOwn(copy, key)) set(copy, key, restoreExact(each, (copy as Container)[key]))
  }
  return copy
}
