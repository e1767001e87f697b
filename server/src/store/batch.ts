/** A batch of store operations, as LangGraph's `BaseStore.batch` defines it. Graphs call it; no access rules apply. */
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Fence } from "../workers/fence.js"
import { type NamespaceSearch, type Put, renderItem, type Search, toPlace } from "./item.js"
import { findItem, listNamespaces, putItems, searchItems } from "./queries.js"
import type { Store } from "./store-settings.js"
import { vectorOfQuery, vectorsOfPuts } from "./vectors.js"

export type Operation =
  | {
      readonly op: "get"
      readonly place: { readonly namespace: readonly string[]; readonly key: string }
      readonly refreshTtl?: boolean | undefined
    }
  | { readonly op: "search"; readonly search: Search }
  | { readonly op: "put"; readonly put: Put }
  | { readonly op: "list_namespaces"; readonly search: NamespaceSearch }

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
  operations: readonly Operation[],
): Promise<unknown[]> {
  const results: unknown[] = []
  let puts: Put[] = []
  for (const operation of operations) {
    if (operation.op === "put") {
      puts.push(operation.put)
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

async function read(store: Store, operation: Exclude<Operation, { op: "put" }>): Promise<unknown> {
  const { db, ttl } = store
  switch (operation.op) {
    case "get": {
      const item = await findItem(db, toPlace(operation.place), {
        refreshTtl: operation.refreshTtl ?? ttl.refreshOnRead,
      })
      return item ? renderItem(item) : null
    }
    case "search": {
      const { search } = operation
      const refreshTtl = search.refreshTtl ?? ttl.refreshOnRead
      const items = await searchItems(db, search, await vectorOfQuery(store, search.query), { refreshTtl })
      return items.map(renderItem)
    }
    case "list_namespaces":
      return listNamespaces(db, operation.search, undefined)
  }
}
