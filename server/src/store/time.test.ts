/** Expiry of items (S7). */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { anyone } from "../auth/caller.js"
import { serverDatabase } from "../testing/test-server.js"
import { getItem, listNamespaces, putItem, searchItems } from "./operations.js"
import { newItem } from "./schema.js"
import type { Store } from "./store-settings.js"
import { itemSweep } from "./sweep-items.js"
import { storeOf } from "./testing/store-of.js"

const ttl = { defaultMinutes: 10, refreshOnRead: true, sweepMinutes: 1 }

const put = (store: Store, key: string, over: object = {}) =>
  putItem(store, anyone, newItem.parse({ namespace: ["a"], key, value: {}, ...over }))
const get = (store: Store, key: string, refresh_ttl?: boolean) =>
  getItem(store, anyone, { namespace: ["a"], key, refresh_ttl })
const search = (store: Store, refresh_ttl?: boolean) =>
  searchItems(store, anyone, { namespace: [], limit: 10, offset: 0, refresh_ttl })

/** Seconds until each item expires, by the database's clock; null: never. */
async function remaining(db: Database) {
  const rows = await db.rows<{ key: string; seconds: number | null }>(
    sql`select key, round(extract(epoch from expires_at - updated_at))::int8 as seconds from store order by key`,
  )
  return Object.fromEntries(rows.map(({ key, seconds }) => [key, seconds]))
}
const turnClock = (db: Database, minutes: number) =>
  db.run(sql`update store set expires_at = expires_at - make_interval(mins => ${minutes}),
    updated_at = updated_at - make_interval(mins => ${minutes}), created_at = created_at - make_interval(mins => ${minutes})`)

test("S7: an item's time to live is that of its put, else that of the project", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db, { ttl })

  await put(store, "usual")
  await put(store, "half", { ttl: 0.5 })
  await put(store, "always", { ttl: null })
  await put(storeOf(db), "without")

  assert.deepEqual(await remaining(db), { usual: 600, half: 30, always: null, without: null })
})

test("S7: reading restarts an item's time to live, unless the project or the request disables it", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db, { ttl })
  const strict = storeOf(db, { ttl: { ...ttl, refreshOnRead: false } })
  await put(store, "k", { ttl: 2 })
  await put(store, "always", { ttl: null })
  await turnClock(db, 1)
  const since = async () => (await remaining(db)).k

  await get(strict, "k")
  await search(strict)
  await get(store, "k", false)
  await search(store, false)
  const unread = await since()
  await get(store, "k")
  const read = await since()
  await turnClock(db, 1)
  await search(store)
  const found = await since()
  await turnClock(db, 1)
  await get(strict, "k", true)

  assert.deepEqual([unread, read, found, await since()], [120, 180, 240, 300])
  assert.equal((await remaining(db)).always, null)
})

test("S7: an expired item is not found, not prolonged, and can be replaced", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db, { ttl })
  await put(store, "k", { ttl: 1 })
  await turnClock(db, 2)
  const before = new Date()

  const gone = await get(store, "k", true)
  const found = await search(store, true)
  const namespaces = await listNamespaces(store, anyone, { limit: 10, offset: 0 })
  await put(store, "k")

  assert.deepEqual([gone, found, namespaces], [null, [], []])
  const item = await get(store, "k")
  assert.ok((item?.createdAt ?? before) >= before)
})

test("S7: servers that sweep at the same time delete only expired items", async () => {
  await using db = await serverDatabase()
  await db.run(sql`
    insert into store (prefix, key, value, expires_at)
    select 'a', n::text, '{}', now() + case when n % 2 = 0 then interval '-1 minute' else '1 hour' end
    from generate_series(1, 5000) n`)

  const sweep = async () => {
    while (await itemSweep({ db, ttl: { sweepMinutes: 1, defaultMinutes: undefined, refreshOnRead: true } })?.step());
  }

  await Promise.all([sweep(), sweep(), sweep()])

  const row = await db.row<{ kept: number; over: number }>(sql`
    select count(*) as kept, count(*) filter (where expires_at < now()) as over from store`)
  assert.deepEqual(row, { kept: 2500, over: 0 })
})
