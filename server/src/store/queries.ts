/** Statements on the store. The rules (S1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
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

interface ItemRow {
  readonly prefix: string
  readonly key: string
  readonly value: string
  readonly created_at: Date
  readonly updated_at: Date
}

const itemColumns = sql`prefix, key, coalesce(exact_value, value::json) as value, created_at, updated_at`
const isThere = sql`(expires_at is null or expires_at > now())`

const toItem = (row: ItemRow): Item => ({
  namespace: fromPrefix(row.prefix),
  key: row.key,
  value: row.value,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

export async function findItem(db: Db, place: { namespace: Namespace; key: string }): Promise<Item | undefined> {
  const { prefix, key } = toPlace(place)
  const row = await db.row<ItemRow>(
    sql`select ${itemColumns} from store where prefix = ${prefix} and key = ${key} and ${isThere}`,
  )
  return row && toItem(row)
}

/** Items below a namespace that satisfy the filter, the last changed first (S3). */
export async function searchItems(db: Db, { namespacePrefix, filter, limit, offset }: Search): Promise<Item[]> {
  const conditions = [isThere, isBelow(toPrefix(namespacePrefix)), ...conditionsOf(filter ?? {}).map(toSql)]
  const rows = await db.rows<ItemRow>(sql`
    select ${itemColumns} from store where ${joinSql(conditions, " and ")}
    order by updated_at desc, prefix, key limit ${limit} offset ${offset}`)
  return rows.map(toItem)
}

// Whole labels: ["a"] is not above ["ab"]. `like` with a constant beginning uses the index on prefix.
const isBelow = (prefix: string): Sql =>
  prefix === "" ? sql`true` : sql`(prefix = ${prefix} or prefix like ${`${escapeLike(prefix)}.%`})`

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

const operators: Record<Comparison, Sql> = {
  $eq: sql`=`,
  $ne: sql`is distinct from`,
  $gt: sql`>`,
  $gte: sql`>=`,
  $lt: sql`<`,
  $lte: sql`<=`,
}

// Order means something only between values of one type: without the test, jsonb puts every number below every text.
function toSql({ key, comparison, value }: Condition): Sql {
  const expected = toJsonbText(value)
  const compared = sql`value -> ${key} ${operators[comparison]} ${expected}::jsonb`
  if (comparison === "$eq" || comparison === "$ne") return sql`(${compared})`
  return sql`(jsonb_typeof(value -> ${key}) = jsonb_typeof(${expected}::jsonb) and ${compared})`
}

/** Namespaces that hold an item, in order (S5). */
export async function listNamespaces(db: Db, search: NamespaceSearch): Promise<Namespace[]> {
  const { matchConditions, maxDepth, limit, offset } = search
  // A slice up to null is null; a slice may end behind the array.
  const depth = maxDepth ?? 1_000_000
  const patterns = matchConditions.filter(({ path }) => path.length > 0).map(namespacePattern)
  const rows = await db.rows<{ prefix: string }>(sql`
    select distinct array_to_string((string_to_array(prefix, '.'))[1:${depth}::integer], '.') as prefix
    from store where ${isThere} and prefix ~ all (${patterns}::text[])
    order by prefix limit ${limit} offset ${offset}`)
  return rows.map((row) => fromPrefix(row.prefix))
}

/**
 * Puts and deletes items in one round trip and one transaction (S1, S2); of several for one key the last counts.
 * @param fence  the claim that the write belongs to; undefined for a write of the API
 * @throws ClaimLost     and nothing was written
 * @throws InvalidInput  for a namespace or key that cannot be
 */
export async function putItems(db: Db, fence: Fence | undefined, puts: readonly Put[]): Promise<void> {
  const byPlace = new Map(puts.map((put) => [JSON.stringify([put.namespace, put.key]), { ...put, ...toPlace(put) }]))
  const last = [...byPlace.values()]
  const row = await db.row<{ held: boolean }>(sql`
    select put_store_items(${fence?.runId ?? null}, ${fence?.claimId ?? null}, ${last.map((put) => put.prefix)},
      ${last.map((put) => put.key)}, ${last.map((put) => put.value)},
      ${last.map((put) => put.value && toJsonbText(put.value))}, ${last.map((put) => put.ttl ?? null)}) as held`)
  if (fence && !row?.held) throw new ClaimLost(fence.runId)
}
