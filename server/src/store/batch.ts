/** A batch of store operations, as LangGraph's `BaseStore.batch` defines it. Graphs call it; no access rules apply. */
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Fence } from "../workers/fence.js"
import { type Put, renderItem, toPlace } from "./item.js"
import { findItem, listNamespaces, putItems, searchItems } from "./queries.js"
import type { StoreOperation } from "./schema.js"
import type { Store } from "./store-settings.js"
import { vectorOfQuery, vectorsOfPuts } from "./vectors.js"

/**
 * Executes the operations in order. Consecutive puts are written together; the last put for a key wins. Each write is
 * fenced (S1).
 * @returns one result for each operation: an item or null, items, null, namespaces; for `toJsonText`
 * @throws ClaimLost        and no later operation was executed
 * @throws InvalidInput
 * @throws EmbeddingFailed  and none of the puts written together with it was executed
 */
export async function executeBatch(
  store: Store,
  fence: Fence | undefined,
  operations: readonly StoreOperation[],
): Promise<unknown[]> {
  const results: unknown[] = []
  let puts: Put[] = []
  for (const operation of operations) {
    if (operation.op === "put") {
      puts.push(putOf(operation))
      results.push(null)
      continue
    }
    if (puts.length > 0) await putAll(store, fence, puts)
    puts = []
    results.push(await read(store, operation))
  }
  if (puts.length > 0) await putAll(store, fence, puts)
  return results
}

/** Gives a put without a `ttl` the project's default. */
export const withDefaultTtl = ({ ttl }: Pick<Store, "ttl">, put: Put): Put => ({
  ...put,
  ttl: put.ttl === undefined ? ttl.defaultMinutes : put.ttl,
})

async function putAll(store: Store, fence: Fence | undefined, puts: readonly Put[]): Promise<void> {
  const byPlace = new Map(puts.map((put) => [toJsonText(toPlace(put)), withDefaultTtl(store, put)]))
  const last = [...byPlace.values()]
  await putItems(store.db, fence, last, await vectorsOfPuts(store, last))
}

const putOf = ({ namespace, key, value, index, ttl }: Extract<StoreOperation, { op: "put" }>): Put => ({
  namespace,
  key,
  ttl,
  index: index ?? undefined,
  value: value === null ? null : toJsonText(value),
})

async function read(store: Store, operation: Exclude<StoreOperation, { op: "put" }>): Promise<unknown> {
  const { db, ttl } = store
  switch (operation.op) {
    case "get": {
      const found = await findItem(db, toPlace(operation), { refreshTtl: operation.refresh_ttl ?? ttl.refreshOnRead })
      return found ? renderItem(found.item) : null
    }
    case "search": {
      const { namespace_prefix: namespacePrefix, filter, query, limit, offset, refresh_ttl } = operation
      const search = { namespacePrefix, filter: filter ?? undefined, query: query ?? undefined }
      const page = { limit: limit ?? 10, offset: offset ?? 0 }
      const vector = await vectorOfQuery(store, search.query)
      const refreshTtl = refresh_ttl ?? ttl.refreshOnRead
      return (await searchItems(db, { ...search, ...page }, vector, { refreshTtl })).map(renderItem)
    }
    case "list_namespaces": {
      const { match_conditions, max_depth, limit, offset } = operation
      const matchConditions = (match_conditions ?? []).map(({ match_type: matchType, path }) => ({ matchType, path }))
      const page = { limit: limit ?? 100, offset: offset ?? 0 }
      return listNamespaces(db, { matchConditions, maxDepth: max_depth ?? undefined, ...page }, undefined)
    }
  }
}
