/** Long-term memory: a value under a namespace and a key, and how it can be searched. Pure. */

import { InvalidInput, Refused } from "@superstep/toolkit/errors/errors"
import { RawJson, toJsonText } from "@superstep/toolkit/http/json"
import { isPlainText } from "@superstep/toolkit/text/storable"

export type Namespace = readonly string[]

export interface Item {
  readonly namespace: Namespace
  readonly key: string
  /** JSON text, as it was written. */
  readonly value: string
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Similarity to the query, from 1 to -1; undefined without a query. */
  readonly score?: number | undefined
}

/** Puts a value; the value null deletes the item. */
export interface Put {
  readonly namespace: Namespace
  readonly key: string
  /** JSON text of an object. */
  readonly value: string | null
  /** Minutes until the item expires; null: never; undefined: the project's default. */
  readonly ttl?: number | null | undefined
  /** Paths of the texts to embed; false: none; undefined: the project's default. */
  readonly index?: false | readonly string[] | undefined
}

export interface Search {
  readonly namespacePrefix: Namespace
  /** For each key of the value: the value it must equal, or an object of operators such as `{"$gt": 3}`. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined
  /** Returns the items nearest in meaning first, if the project has an index (S4). */
  readonly query?: string | undefined
  readonly limit: number
  readonly offset: number
  /** Whether finding an item restarts its time to live; undefined: the project's default. */
  readonly refreshTtl?: boolean | undefined
}

export interface MatchCondition {
  readonly matchType: "prefix" | "suffix"
  /** Labels; `*` matches any one label. */
  readonly path: Namespace
}

export interface NamespaceSearch {
  readonly matchConditions: readonly MatchCondition[]
  /** Longer namespaces are shortened to this many labels, and listed once. */
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

const isLabel = (label: string): boolean => label !== "" && !label.includes(".")
const notPlain = "expected text without U+0000 and without half surrogate pairs"

/**
 * The namespace as the database stores it: labels joined by dots.
 * @throws InvalidInput  for an empty label or one with a dot (message as in LangGraph Platform, agent-server-api §9), or that Postgres cannot store
 */
export function toPrefix(namespace: Namespace, field = "namespace"): string {
  if (!namespace.every(isPlainText)) throw invalid([field], notPlain)
  if (namespace.every(isLabel)) return namespace.join(".")
  const received = toJsonText(namespace.join(".")).slice(1, -1)
  throw invalid([field], `Namespace labels cannot be empty or contain periods. Received: ${received}`)
}

/** The namespace of a stored prefix. */
export const fromPrefix = (prefix: string): Namespace => prefix.split(".")

// Postgres rejects an index key above 2704 bytes; the key of a vector also contains the path of its text.
const maxPlaceBytes = 1800

/**
 * An item's place: a namespace with at least one label, and a key.
 * @throws InvalidInput
 * @throws Refused  for a namespace without a label (agent-server-api §9)
 */
export function toPlace({ namespace, key }: { namespace: Namespace; key: string }) {
  if (namespace.length === 0) throw new Refused("Namespace is required", "namespace_required")
  const prefix = toPrefix(namespace)
  if (!isPlainText(key)) throw invalid(["key"], notPlain)
  if (Buffer.byteLength(prefix) + Buffer.byteLength(key) > maxPlaceBytes) {
    throw invalid(["key"], `expected a namespace and a key of at most ${maxPlaceBytes} bytes together`)
  }
  return { prefix, key }
}

const invalid = (path: readonly string[], message: string): InvalidInput =>
  new InvalidInput([{ path: ["body", ...path], message, type: "value_error" }])

/** A regular expression that matches the prefixes of matching namespaces. @throws InvalidInput  for an impossible label */
export function namespacePattern({ matchType, path }: MatchCondition): string {
  if (Buffer.byteLength(toPrefix(path, matchType)) > maxPlaceBytes) {
    throw invalid([matchType], `expected at most ${maxPlaceBytes} bytes, since no namespace is longer`)
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

// Each condition makes the statement longer, and its plan, which every connection caches.
const maxConditions = 50

/**
 * Reads a filter: every condition must hold.
 * @throws InvalidInput  for an operator that does not exist, or too many conditions
 */
export function conditionsOf(filter: Readonly<Record<string, unknown>>): Condition[] {
  const conditions = Object.entries(filter).flatMap(([name, expected]) => conditionsOn(name, expected))
  if (conditions.length <= maxConditions) return conditions
  throw invalid(["filter"], `expected at most ${maxConditions} conditions`)
}

function conditionsOn(name: string, expected: unknown): Condition[] {
  const key = toJsonbKey(name)
  if (!isOperators(expected)) return [{ key, comparison: "$eq", value: toJsonText(expected) }]
  return Object.entries(expected).map(([operator, value]) => ({
    key,
    comparison: comparisonOf(name, operator),
    value: toJsonText(value),
  }))
}

// The same replacement that `toJsonbText` makes in the keys of values.
const toJsonbKey = (name: string): string => name.replace(/\0|\p{Surrogate}/gu, "\ufffd")

const isOperators = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.keys(value).some((key) => key.startsWith("$"))

function comparisonOf(key: string, name: string): Comparison {
  const comparison = comparisons.find((known) => known === name)
  if (comparison) return comparison
  throw invalid(["filter", key, name], `expected one of ${comparisons.join(", ")}`)
}
