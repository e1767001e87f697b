/** Store operations of clients. Each applies the access rules once and is limited to items that they allow (agent-server-api §9). */
import { Conflict, Forbidden, InvalidInput, NotFound } from "@superstep/toolkit/errors/errors"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { toJsonText } from "@superstep/toolkit/http/json"
import { problemsOf } from "@superstep/toolkit/http/problems"
import type { z } from "zod"
import { recordedDeletion } from "../acts/deletions.js"
import type { AccessEvent, Caller } from "../auth/caller.js"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { withDefaultTtl } from "./batch.js"
import { type Item, type Namespace, toPlace } from "./item.js"
import {
  deleteItem as deleteInDatabase,
  fieldNamesAt,
  findItem,
  holdPlace,
  isItemVisible,
  keepExpiry,
  listNamespaces as listInDatabase,
  type Place,
  putItems,
  searchItems as searchInDatabase,
  wouldBeVisible,
} from "./queries.js"
import { askedItem, askedNamespaces, askedPut, askedSearch, type newItem } from "./schema.js"
import type { Store } from "./store-settings.js"
import { indexOfVectors, vectorOfQuery, vectorsOfPuts } from "./vectors.js"

/**
 * A rule may change the request, so the result is validated like the request itself.
 * @param asked  with null for what the client did not give: a rule in Python reads it by its name (agent-server-api §12.3)
 */
async function authorized<S extends z.ZodType<object>>(caller: Caller, event: AccessEvent, schema: S, asked: object) {
  const { value, filter } = await caller.authorize(event, asked)
  const { result: parsed, value: checked } = checkExact(schema, value)
  if (!parsed.success) throw new InvalidInput(problemsOf(parsed.error.issues, checked, [event]))
  return { value: parsed.data as z.output<S>, filter }
}

// The messages of the reference servers (agent-server-api §9).
const notFound = () => new NotFound("Item not found")
const forbidden = () => new Forbidden("Not authorized")

/**
 * Puts an item, replacing an existing one; with `if_value` only the one that the client has read (S9).
 * @throws NotFound         the existing item is one that the caller may not see
 * @throws Forbidden        the caller would not be allowed to see the new item
 * @throws Conflict         another item than that of `if_value` is there
 * @throws EmbeddingFailed  and nothing was changed
 */
export async function putItem(
  store: Store,
  caller: Caller,
  { if_value: read, ...asked }: z.output<typeof newItem>,
): Promise<void> {
  const { value: put, filter } = await authorized(caller, "store:put", askedPut, {
    ...asked,
    index: asked.index ?? null,
  })
  const place = toPlace(put)
  const value = toJsonText(put.value)
  if (filter && !(await wouldBeVisible(store.db, place, value, filter))) throw forbidden()
  const isEdit = read !== undefined && read !== null
  // Read before the lock: the embedding may take long.
  const kept = isEdit ? indexOfVectors(store.index, await fieldNamesAt(store.db, place)) : undefined
  const puts = [withDefaultTtl(store, { ...put, index: put.index ?? kept, value })]
  const vectors = await vectorsOfPuts(store, puts)
  if (filter === undefined && read === undefined) return putItems(store.db, undefined, puts, vectors)
  await store.db.transaction(async (tx) => {
    const held = await holdPlace(tx, place, { filter, value: isEdit ? toJsonText(read) : null })
    if (!held.isFree) throw notFound()
    if (read !== undefined && !held.hasValue) throw new Conflict(isEdit ? changed : exists, "item_changed")
    await putItems(tx, undefined, puts, vectors)
    if (isEdit && put.ttl === undefined) await keepExpiry(tx, place, held)
  })
}

const changed = "the item was changed or deleted after it was read: read it again"
const exists = "there is an item with this namespace and key: read it before you replace it"

/**
 * @returns null when there is no such item
 * @throws NotFound  the caller may not see the item
 */
export async function getItem(store: Store, caller: Caller, asked: z.output<typeof askedItem>): Promise<Item | null> {
  const { value, filter } = await authorized(caller, "store:get", askedItem, asked)
  if (value.namespace.length === 0) return null
  const [place, refreshTtl] = [toPlace(value), asked.refresh_ttl ?? store.ttl.refreshOnRead]
  const found = await findItem(store.db, place, { refreshTtl, filter })
  if (!found) return null
  if (!found.isVisible) throw notFound()
  return found.item
}

/**
 * Deletes an item if it exists.
 * @throws NotFound   the caller may not see the item
 * @throws Forbidden  the item does not exist, and the caller would not be allowed to see it
 */
export async function deleteItem(store: Store, caller: Caller, asked: z.output<typeof askedItem>): Promise<void> {
  const { value, filter } = await authorized(caller, "store:delete", askedItem, asked)
  if (value.namespace.length === 0) return
  const place = toPlace(value)
  const id = [value.namespace.join("."), value.key].join("/")
  const deleteVisible = () =>
    recordedDeletion(
      store.db,
      caller,
      (tx) => deleteInDatabase(tx, place, filter),
      (it) => (it ? [{ type: "store_item", id }] : []),
    )
  while (!(await deleteVisible()) && filter !== undefined) {
    const isVisible = await isItemVisible(store.db, place, filter)
    if (isVisible === false) throw notFound()
    // Otherwise it was put after the deletion had found none: it is deleted now.
    if (isVisible === undefined) return requireVisiblePlace(store, place, filter)
  }
}

/** @throws Forbidden  the caller would not be allowed to see an item there */
async function requireVisiblePlace({ db }: Store, place: Place, filter: MetadataFilter): Promise<void> {
  if (!(await wouldBeVisible(db, place, "{}", filter))) throw forbidden()
}

export async function searchItems(
  store: Store,
  caller: Caller,
  asked: z.output<typeof askedSearch>,
): Promise<readonly Item[]> {
  const whole = { ...asked, filter: asked.filter ?? null, query: asked.query ?? null }
  const { value, filter } = await authorized(caller, "store:search", askedSearch, whole)
  const { namespace, query, limit, offset } = value
  const near = await vectorOfQuery(store, query ?? undefined)
  const search = { namespacePrefix: namespace, filter: value.filter ?? undefined, limit, offset }
  return searchInDatabase(store.db, search, near, {
    refreshTtl: asked.refresh_ttl ?? store.ttl.refreshOnRead,
    filter,
  })
}

export async function listNamespaces(
  store: Store,
  caller: Caller,
  asked: z.output<typeof askedNamespaces>,
): Promise<readonly Namespace[]> {
  const whole = {
    ...asked,
    namespace: asked.namespace ?? null,
    suffix: asked.suffix ?? null,
    max_depth: asked.max_depth ?? null,
  }
  const { value, filter } = await authorized(caller, "store:list_namespaces", askedNamespaces, whole)
  const { namespace, suffix, max_depth, limit, offset } = value
  const matchConditions = [
    { matchType: "prefix", path: namespace ?? [] },
    { matchType: "suffix", path: suffix ?? [] },
  ] as const
  return listInDatabase(store.db, { matchConditions, maxDepth: max_depth ?? undefined, limit, offset }, filter)
}
