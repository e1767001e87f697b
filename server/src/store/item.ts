/** Long-term memory: a value under a namespace and a key, and the questions one may ask of it. Pure. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"

export type Namespace = readonly string[]

export interface Item {
  readonly namespace: Namespace
  readonly key: string
  /** JSON text, as it was written. */
  readonly value: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Puts a value; null deletes. */
export interface Put {
  readonly namespace: Namespace
  readonly key: string
  /** JSON text of an object. */
  readonly value: string | null
  /** Minutes until the item is gone. */
  readonly ttl?: number | undefined
}

export interface Search {
  readonly namespacePrefix: Namespace
  /** By key of the value: what it equals, or an object of operators such as `{"$gt": 3}`. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined
  readonly limit: number
  readonly offset: number
}

export interface MatchCondition {
  readonly matchType: "prefix" | "suffix"
  /** Labels; `*` stands for any one of them. */
  readonly path: Namespace
}

export interface NamespaceSearch {
  readonly matchConditions: readonly MatchCondition[]
  /** Longer namespaces are cut to so many labels, and listed once. */
  readonly maxDepth?: number | undefined
  readonly limit: number
  readonly offset: number
}

// U+0000 is the one character that Postgres texts cannot hold.
const isLabel = (label: string): boolean => label !== "" && !label.includes(".") && !label.includes("\0")

/**
 * The namespace as the database keeps it: labels joined by dots.
 * @throws InvalidInput  for an empty label or one with a dot (text as in LangGraph Platform, agent-server-api §9)
 */
export function toPrefix(namespace: Namespace): string {
  if (!namespace.every(isLabel)) {
    const received = namespace.join(".").replaceAll("\0", "\\0")
    throw new InvalidInput(`Namespace labels cannot be empty or contain periods. Received: ${received}`)
  }
  return namespace.join(".")
}

/** The namespace of a stored prefix. */
export const fromPrefix = (prefix: string): Namespace => prefix.split(".")

/**
 * An item's place: a namespace with at least one label, and a key.
 * @throws InvalidInput
 */
export function toPlace({ namespace, key }: { namespace: Namespace; key: string }) {
  if (namespace.length === 0) throw new InvalidInput("Namespace is required")
  if (key.includes("\0")) throw new InvalidInput("a key cannot contain the character U+0000")
  return { prefix: toPrefix(namespace), key }
}

/** A regular expression that the prefixes of matching namespaces satisfy. */
export function namespacePattern({ matchType, path }: MatchCondition): string {
  const labels = path.map((label) => (label === "*" ? "[^.]+" : escapeRegExp(label))).join("\\.")
  return matchType === "prefix" ? `^${labels}(\\.|$)` : `(^|\\.)${labels}$`
}

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

export const comparisons = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"] as const
export type Comparison = (typeof comparisons)[number]

export interface Condition {
  readonly key: string
  readonly comparison: Comparison
  /** JSON text. */
  readonly value: string
}

/**
 * Reads a filter: every condition must hold.
 * @throws InvalidInput  for an operator that does not exist
 */
export const conditionsOf = (filter: Readonly<Record<string, unknown>>): Condition[] =>
  Object.entries(filter).flatMap(([key, expected]) =>
    isOperators(expected)
      ? Object.entries(expected).map(([name, value]) => ({
          key,
          comparison: comparisonOf(key, name),
          value: json(value),
        }))
      : [{ key, comparison: "$eq" as const, value: json(expected) }],
  )

const json = (value: unknown): string => JSON.stringify(value) ?? "null"

const isOperators = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.keys(value).some((key) => key.startsWith("$"))

function comparisonOf(key: string, name: string): Comparison {
  const comparison = comparisons.find((known) => known === name)
  if (comparison) return comparison
  throw new InvalidInput([
    { path: ["filter", key, name], message: `expected one of ${comparisons.join(", ")}`, type: "value_error" },
  ])
}
