/** Statements on the store. The rules (S1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import { ClaimLost, type Fence } from "../workers/fence.js"
import {
  type Comparison,
  type Condition,
  conditionsOf,
  fromPrefix,
  type Item,
  type Namespace,
  type NamespaceSearch,
  namespacePattern,
  type Put,
  type Search,
  toPlace,
  toPrefix,
} from "./item.js"
import type { ItemVectors } from "./vectors.js"

interface ItemRow {
  readonly prefix: string
  readonly key: string
  readonly value: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly score: number | null
}

/** An item's place, in the database's form. */
export type Place = ReturnType<typeof toPlace>

const itemColumns = sql`s.prefix, s.key, coalesce(s.exact_value, s.value::json) as value, s.created_at, s.updated_at`
const isThere = sql`(s.expires_at is null or s.expires_at > now())`
const isAt = ({ prefix, key }: Place): Sql => sql`s.prefix = ${prefix} and s.key = ${key}`

/** What a rule's filter is matched against: the value together with the item's place (agent-server-api §12.3). */
const accessible = (value: Sql, prefix: Sql, key: Sql): Sql =>
  sql`(${value} || jsonb_build_object('namespace', string_to_array(${prefix}, '.'), 'key', ${key}))`
const isVisible = (filter: MetadataFilter | undefined): Sql =>
  filter === undefined ? sql`true` : matchesFilter(accessible(sql`s.value`, sql`s.prefix`, sql`s.key`), filter)

const toItem = (row: ItemRow): Item => ({
  namespace: fromPrefix(row.prefix),
  key: row.key,
  value: row.value,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  score: row.score ?? undefined,
})

export interface Reading {
  /** Whether finding an item restarts its time to live (S7). */
  readonly refreshTtl: boolean
  /** The caller may see only items that match. */
  readonly filter?: MetadataFilter | undefined
}

// Concurrent readers extend the same items in different orders. An item that is locked is skipped: its other reader extends it.
const refreshed = sql`refreshed as (
  update store s set expires_at = now() + make_interval(secs => s.ttl_minutes * 60)
  where s.ttl_minutes is not null and (s.prefix, s.key) in (
    select s.prefix, s.key from store s join found using (prefix, key) for update of s skip locked))`

const findAndRefresh = (found: Sql, refreshTtl: boolean, order: Sql): Sql =>
  refreshTtl ? sql`with found as (${found}), ${refreshed} select * from found ${order}` : found

/** Finds an item, and whether the caller may see it: at the same moment, since its owner may put it between two statements. */
export async function findItem(
  db: Db,
  place: Place,
  { refreshTtl, filter }: Reading,
): Promise<{ readonly item: Item; readonly isVisible: boolean } | undefined> {
  const there = sql`select ${itemColumns}, null as score, ${isVisible(filter)} as is_visible from store s
    where ${isAt(place)} and ${isThere}`
  const row = await db.row<ItemRow & { readonly is_visible: boolean }>(
    refreshTtl
      ? sql`with there as (${there}), found as (select prefix, key from there where is_visible), ${refreshed} select * from there`
      : there,
  )
  return row && { item: toItem(row), isVisible: row.is_visible }
}

/**
 * Items below a namespace that match the filter: the last changed first, or the nearest to a vector first (S3, S4).
 * @param near  the query's vector as text
 */
export async function searchItems(
  db: Db,
  { namespacePrefix, filter, limit, offset }: Search,
  near: string | undefined,
  reading: Reading,
): Promise<Item[]> {
  const conditions = [isThere, isBelow(toPrefix(namespacePrefix, "namespace_prefix")), isVisible(reading.filter)]
  const wanted = joinSql([...conditions, ...conditionsOf(filter ?? {}).map(toSql)], " and ")
  const byTime = sql`order by updated_at desc, prefix, key`
  const byScore = sql`order by score desc, updated_at desc, prefix, key`
  const found =
    near === undefined
      ? sql`select ${itemColumns}, null as score from store s where ${wanted} ${byTime}`
      : sql`select ${itemColumns}, nearest.score from store s cross join lateral (
          select max(embedding_similarity(v.embedding, to_embedding(${near}))) as score from store_vectors v
          where v.prefix = s.prefix and v.key = s.key) nearest
        where ${wanted} and nearest.score is not null ${byScore}`
  const page = sql`${found} limit ${limit} offset ${offset}`
  const order = near === undefined ? byTime : byScore
  return (await db.rows<ItemRow>(findAndRefresh(page, reading.refreshTtl, order))).map(toItem)
}

// Compares whole labels: ["a"] does not contain ["ab"]. `like` with a constant start uses the index on prefix.
const isBelow = (prefix: string): Sql =>
  prefix === "" ? sql`true` : sql`(s.prefix = ${prefix} or s.prefix like ${`${escapeLike(prefix)}.%`})`

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

const operators: Record<Comparison, Sql> = {
  $eq: sql`=`,
  $ne: sql`is distinct from`,
  $gt: sql`>`,
  $gte: sql`>=`,
  $lt: sql`<`,
  $lte: sql`<=`,
}

// Only values of one type can be ordered: without the type test, jsonb would sort every number after every text.
function toSql({ key, comparison, value }: Condition): Sql {
  const expected = toJsonbText(value)
  const compared = sql`s.value -> ${key} ${operators[comparison]} ${expected}::jsonb`
  if (comparison === "$eq" || comparison === "$ne") return sql`(${compared})`
  return sql`(jsonb_typeof(s.value -> ${key}) = jsonb_typeof(${expected}::jsonb) and ${compared})`
}

// More labels than any namespace has; it must fit into an SQL integer.
const anyDepth = 1_000_000

/** Namespaces with an item that the caller may see, in order (S5). */
export async function listNamespaces(
  db: Db,
  search: NamespaceSearch,
  filter: MetadataFilter | undefined,
): Promise<Namespace[]> {
  const { matchConditions, maxDepth, limit, offset } = search
  // A slice with the bound null is null, so use a large bound; a slice may end after the array.
  const depth = Math.min(maxDepth ?? anyDepth, anyDepth)
  const patterns = matchConditions.filter(({ path }) => path.length > 0).map(namespacePattern)
  const rows = await db.rows<{ prefix: string }>(sql`
    select distinct array_to_string((string_to_array(prefix, '.'))[1:${depth}::integer], '.') as prefix
    from store s where ${isThere} and ${isVisible(filter)} and prefix ~ all (${patterns}::text[])
    order by prefix limit ${limit} offset ${offset}`)
  return rows.map((row) => fromPrefix(row.prefix))
}

/**
 * Puts and deletes items in one round trip and one transaction (S1, S2).
 * @param fence    the claim that the write belongs to; undefined for a write over the API
 * @param puts     at most one for each key
 * @param vectors  of these items, replacing their former vectors; undefined without an index
 * @throws ClaimLost     and nothing was written
 * @throws InvalidInput  for an impossible namespace or key
 */
export async function putItems(
  db: Db,
  fence: Fence | undefined,
  puts: readonly Put[],
  vectors: ItemVectors | undefined,
): Promise<void> {
  const places = puts.map(toPlace)
  const items = sql`${fence?.runId ?? null}, ${fence?.claimId ?? null}, ${places.map(({ prefix }) => prefix)},
    ${places.map(({ key }) => key)}, ${puts.map(({ value }) => value)},
    ${puts.map(({ value }) => value && toJsonbText(value))}, ${puts.map(({ ttl }) => ttl ?? null)}`
  const put = vectors
    ? sql`put_indexed_store_items(${items}, ${vectors.items}, ${vectors.fieldNames}, ${vectors.vectors})`
    : sql`put_store_items(${items})`
  const row = await db.row<{ held: boolean }>(sql`select ${put} as held`)
  if (fence && !row?.held) throw new ClaimLost(fence.runId)
}

/** Deletes an item that the caller may see. @returns whether it existed */
export async function deleteItem(db: Db, place: Place, filter: MetadataFilter | undefined): Promise<boolean> {
  return (await db.run(sql`delete from store s where ${isAt(place)} and ${isThere} and ${isVisible(filter)}`)) > 0
}

/** Whether the caller may see the item. @returns undefined when there is no item */
export async function isItemVisible(
  db: Db,
  place: Place,
  filter: MetadataFilter | undefined,
): Promise<boolean | undefined> {
  const row = await db.row<{ visible: boolean }>(
    sql`select ${isVisible(filter)} as visible from store s where ${isAt(place)} and ${isThere}`,
  )
  return row?.visible
}

/** Whether the caller would see an item with this value (JSON text) at this place. */
export async function wouldBeVisible(db: Db, { prefix, key }: Place, value: string, filter: MetadataFilter) {
  const [text, at] = [toJsonbText(value), sql`${prefix}::text`]
  const item = accessible(sql`${text}::jsonb`, at, sql`${key}::text`)
  const row = await db.row<{ visible: boolean }>(sql`select ${matchesFilter(item, filter)} as visible`)
  return row?.visible === true
}

interface HeldPlace {
  /** Whether there is no item, or one that the caller may see. */
  readonly isFree: boolean
  /** Whether the item has the given value; for null: whether there is no item. */
  readonly hasValue: boolean
  readonly expiresAt: string | null
  readonly ttlMinutes: number | null
}

interface Expected {
  readonly filter: MetadataFilter | undefined
  /** JSON text. */
  readonly value: string | null
}

/** Locks a place until the transaction ends, so that no other transaction can put an item there. */
export async function holdPlace(tx: Db, place: Place, { filter, value }: Expected): Promise<HeldPlace> {
  const { prefix, key } = place
  // The update changes nothing: it locks a row that is there, so that it cannot be deleted before it is looked at.
  const row = await tx.row<HeldPlace>(sql`
    insert into store as s (prefix, key, value, expires_at) values (${prefix}, ${key}, '{}', '-infinity')
    on conflict (prefix, key) do update set updated_at = s.updated_at
    returning (not ${isThere} or ${isVisible(filter)}) as "isFree",
      case when ${isThere} then s.value end is not distinct from ${value && toJsonbText(value)}::jsonb as "hasValue",
      s.expires_at::text as "expiresAt", s.ttl_minutes as "ttlMinutes"`)
  if (!row) throw new Error("an insert with a conflict clause has returned no row")
  return row
}

/** Gives an item that was put the time to live that it had when its place was locked. */
export async function keepExpiry(tx: Db, place: Place, { expiresAt, ttlMinutes }: HeldPlace): Promise<void> {
  await tx.run(sql`update store s set expires_at = ${expiresAt}::timestamptz, ttl_minutes = ${ttlMinutes}
    where ${isAt(place)}`)
}

/** The names of the vectors of an item. */
export async function fieldNamesAt(db: Db, place: Place): Promise<string[]> {
  const rows = await db.rows<{ name: string }>(
    sql`select s.field_name as name from store_vectors s where ${isAt(place)}`,
  )
  return rows.map(({ name }) => name)
}

/** Deletes some expired items; a server that does so concurrently deletes others. @returns how many */
export const deleteExpired = (db: Db, most: number): Promise<number> =>
  db.run(sql`delete from store where (prefix, key) in (
    select s.prefix, s.key from store s where s.expires_at <= now() limit ${most} for update skip locked)`)
