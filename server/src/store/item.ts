/** Long-term memory: a value under a namespace and a key, and the questions one may ask of it. Pure. */
import { isPlainText } from "@superstep/toolkit/db/text"
import { InvalidInput, Refused } from "@superstep/toolkit/errors/errors"
import { RawJson } from "@superstep/toolkit/http/json"

export type Namespace = readonly string[]

export interface Item {
  readonly namespace: Namespace
  readonly key: string
  /** JSON text, as it was written. */
  readonly value: string
  readonly createdAt: Date
  readonly updatedAt: Date
  /** How near it is to the query, from 1 to -1; undefined when there was none. */
  readonly score?: number | undefined
}

/** Puts a value; null deletes. */
export interface Put {
  readonly namespace: Namespace
  readonly key: string
  /** JSON text of an object. */
  readonly value: string | null
  /** Minutes until the item is gone; null: it stays; undefined: what the project says. */
  readonly ttl?: number | null | undefined
  /** Paths of the texts that are embedded; false: none; undefined: what the project says. */
  readonly index?: false | readonly string[] | undefined
}

export interface Search {
  readonly namespacePrefix: Namespace
  /** By key of the value: what it equals, or an object of operators such as `{"$gt": 3}`. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined
  /** Gives the items nearest in meaning first, where the project has an index (S4). */
  readonly query?: string | undefined
  readonly limit: number
  readonly offset: number
  /** Whether the time of what is found begins anew; undefined: what the project says. */
  readonly refreshTtl?: boolean | undefined
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

/** An item as clients and workers see it (agent-server-api §2.10). */
export const renderItem = (item: Item) => ({
  namespace: item.namespace,
  key: item.key,
  value: new RawJson(item.value),
  created_at: item.createdAt.toISOString(),
  updated_at: item.updatedAt.toISOString(),
  score: item.score,
})

const isLabel = (label: string): boolean => label !== "" && !label.includes(".") && isPlainText(label)

/**
 * The namespace as the database keeps it: labels joined by dots.
 * @throws InvalidInput  for an empty label or one with a dot (text as in LangGraph Platform, agent-server-api §9)
 */
export function toPrefix(namespace: Namespace, field = "namespace"): string {
  if (namespace.every(isLabel)) return namespace.join(".")
  const received = JSON.stringify(namespace.join(".")).slice(1, -1)
  throw invalid([field], `Namespace labels cannot be empty or contain periods. Received: ${received}`)
}

/** The namespace of a stored prefix. */
export const fromPrefix = (prefix: string): Namespace => prefix.split(".")

// Postgres refuses a key of an index above 2704 bytes; the path of a vector's text comes on top.
const mostPlaceBytes = 1800

/**
 * An item's place: a namespace with at least one label, and a key.
 * @throws InvalidInput
 * @throws Refused  for a namespace without a label (agent-server-api §9)
 */
export function toPlace({ namespace, key }: { namespace: Namespace; key: string }) {
  if (namespace.length === 0) throw new Refused("Namespace is required", "namespace_required")
  const prefix = toPrefix(namespace)
  if (!isPlainText(key)) throw invalid(["key"], "expected text without U+0000 and without half surrogate pairs")
  if (Buffer.byteLength(prefix) + Buffer.byteLength(key) > mostPlaceBytes) {
    throw invalid(["key"], `expected a namespace and a key of at most ${mostPlaceBytes} bytes together`)
  }
  return { prefix, key }
}

const invalid = (path: readonly string[], message: string): InvalidInput =>
  new InvalidInput([{ path: ["body", ...path], message, type: "value_error" }])

/** A regular expression that the prefixes of matching namespaces satisfy. @throws InvalidInput  for a label that cannot be */
export function namespacePattern({ matchType, path }: MatchCondition): string {
  if (Buffer.byteLength(toPrefix(path, matchType)) > mostPlaceBytes) {
    throw invalid([matchType], `expected at most ${mostPlaceBytes} bytes, since no namespace is longer`)
  }
  const labels = path.map((label) => (label === "*" ? "[^.]+" : escapeRegExp(label))).join("\\.")
  return matchType === "prefix" ? `^${labels}(\\.|$)` : `(^|\\.)${labels}$`
}

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

const comparisons = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"] as const
export type Comparison = (typeof comparisons)[number]

export interface Condition {
  readonly key: string
  readonly comparison: Comparison
  /** JSON text. */
  readonly value: string
}

// Each is a part of the statement, and of its plan that every connection keeps.
const mostConditions = 50

/**
 * Reads a filter: every condition must hold.
 * @throws InvalidInput  for an operator that does not exist, or too many conditions
 */
export function conditionsOf(filter: Readonly<Record<string, unknown>>): Condition[] {
  const conditions = Object.entries(filter).flatMap(([name, expected]) => conditionsOn(name, expected))
  if (conditions.length <= mostConditions) return conditions
  throw invalid(["filter"], `expected at most ${mostConditions} conditions`)
}

function conditionsOn(name: string, expected: unknown): Condition[] {
  const key = toJsonbKey(name)
  if (!isOperators(expected)) return [{ key, comparison: "$eq", value: json(expected) }]
  return Object.entries(expected).map(([operator, value]) => ({
    key,
    comparison: comparisonOf(name, operator),
    value: json(value),
  }))
}

// As `toJsonbText` changes the keys of values.
const toJsonbKey = (name: string): string => name.replace(/\0|\p{Surrogate}/gu, "\ufffd")

const json = (value: unknown): string => JSON.stringify(value) ?? "null"

const isOperators = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.keys(value).some((key) => key.startsWith("$"))

function comparisonOf(key: string, name: string): Comparison {
  const comparison = comparisons.find((known) => known === name)
  if (comparison) return comparison
  throw invalid(["filter", key, name], `expected one of ${comparisons.join(", ")}`)
}
