/** A batch of store operations, as LangGraph's `BaseStore.batch` defines it. */
import type { Db } from "@superstep/toolkit/db/database"
import { RawJson } from "@superstep/toolkit/http/json"
import type { Fence } from "../workers/fence.js"
import type { Item, NamespaceSearch, Put, Search } from "./item.js"
import { findItem, listNamespaces, putItems, searchItems } from "./queries.js"

export type Operation =
  | { readonly op: "get"; readonly place: { readonly namespace: readonly string[]; readonly key: string } }
  | { readonly op: "search"; readonly search: Search }
  | { readonly op: "put"; readonly put: Put }
  | { readonly op: "list_namespaces"; readonly search: NamespaceSearch }

/** An item as clients see it (agent-server-api §9). */
export const renderItem = (item: Item) => ({
  namespace: item.namespace,
  key: item.key,
  value: new RawJson(item.value),
  created_at: item.createdAt.toISOString(),
  updated_at: item.updatedAt.toISOString(),
})

/**
 * Executes the operations in order; neighbouring puts travel together. Each write is fenced by itself (S1).
 * @returns a result for each: an item or null, items, null, namespaces; for `toJsonText`
 * @throws ClaimLost     and no later operation was executed
 * @throws InvalidInput
 */
export async function executeBatch(
  db: Db,
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
    if (puts.length > 0) await putItems(db, fence, puts)
    puts = []
    results.push(await read(db, operation))
  }
  if (puts.length > 0) await putItems(db, fence, puts)
  return results
}

async function read(db: Db, operation: Exclude<Operation, { op: "put" }>): Promise<unknown> {
  switch (operation.op) {
    case "get": {
      const item = await findItem(db, operation.place)
      return item ? renderItem(item) : null
    }
    case "search":
      return (await searchItems(db, operation.search)).map(renderItem)
    case "list_namespaces":
      return listNamespaces(db, operation.search)
  }
}
