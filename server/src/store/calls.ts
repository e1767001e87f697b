/** Answers a worker's `store.batch` calls (protocol/worker, "Calls of a worker: store"). */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { scanJson } from "@superstep/toolkit/text/scan-json"
import { z } from "zod"
import { type CallHandlers, fenceOf } from "../workers/calls.js"
import { requireHeld } from "../workers/held-numbers.js"
import { executeBatch, type Operation } from "./batch.js"
import { index, ttl } from "./schema.js"
import type { Store } from "./store-settings.js"

export const storeCalls = (store: Store): CallHandlers => ({
  "store.batch": async (fields, [operations], language) => {
    const batch = operationsOf(operations)
    // Reading a thread's state outside a run may read from the store without a claim.
    const fence = batch.some(({ op }) => op === "put") ? fenceOf(fields) : undefined
    const results = await executeBatch(store, fence, batch)
    const data = toJsonText(results)
    if (scanJson(data).found.length > 0) requireHeld(language, [{ path: ["results"], value: parseJson(data) }])
    return { payload: [{ name: "results", data }] }
  },
})

const namespace = z.array(z.string())
const page = (limit: number) => ({
  limit: z
    .int()
    .nonnegative()
    .nullish()
    .transform((value) => value ?? limit),
  offset: z
    .int()
    .nonnegative()
    .nullish()
    .transform((value) => value ?? 0),
})

const refresh = { refresh_ttl: z.boolean().nullish() }

const get = z.object({ op: z.literal("get"), namespace, key: z.string(), ...refresh }).transform(
  ({ op, refresh_ttl, ...place }): Operation => ({
    op,
    place,
    refreshTtl: refresh_ttl ?? undefined,
  }),
)

const search = z
  .object({
    op: z.literal("search"),
    namespace_prefix: namespace,
    filter: z.record(z.string(), z.unknown()).nullish(),
    query: z.string().nullish(),
    ...page(10),
    ...refresh,
  })
  .transform(
    ({ op, namespace_prefix, filter, query, limit, offset, refresh_ttl }): Operation => ({
      op,
      search: {
        namespacePrefix: namespace_prefix,
        filter: filter ?? undefined,
        query: query ?? undefined,
        limit,
        offset,
        refreshTtl: refresh_ttl ?? undefined,
      },
    }),
  )

const put = z
  .object({
    op: z.literal("put"),
    namespace,
    key: z.string(),
    value: z.record(z.string(), z.unknown()).nullable(),
    index: index.nullish(),
    ttl: ttl.nullish(),
  })
  .transform(
    ({ op, value, index, ...put }): Operation => ({
      op,
      put: { ...put, index: index ?? undefined, value: value === null ? null : toJsonText(value) },
    }),
  )

const listNamespaces = z
  .object({
    op: z.literal("list_namespaces"),
    match_conditions: z.array(z.object({ match_type: z.enum(["prefix", "suffix"]), path: namespace })).nullish(),
    max_depth: z.int().positive().nullish(),
    ...page(100),
  })
  .transform(
    ({ op, match_conditions, max_depth, limit, offset }): Operation => ({
      op,
      search: {
        matchConditions: (match_conditions ?? []).map(({ match_type, path }) => ({ matchType: match_type, path })),
        maxDepth: max_depth ?? undefined,
        limit,
        offset,
      },
    }),
  )

const operationList = z.array(z.discriminatedUnion("op", [get, search, put, listNamespaces]))

/** @throws InvalidInput  naming each field that is missing or wrong */
function operationsOf(line: Buffer | undefined): Operation[] {
  if (!line) throw new InvalidInput("the line of operations is missing")
  const { result } = checkExact(operationList, parseJson(line.toString("utf8")))
  if (result.success) return result.data
  throw new InvalidInput(
    result.error.issues.map(({ path, message }) => ({
      path: ["operations", ...path.map((part) => (typeof part === "number" ? part : String(part)))],
      message,
      type: "value_error",
    })),
  )
}
