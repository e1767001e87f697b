/** Semantic search (S4), with the vector type that this Postgres supports. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { anyone } from "../auth/caller.js"
import { serverDatabase } from "../testing/test-server.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import { EmbeddingFailed, embedBy } from "./embedder.js"
import { putItem, searchItems } from "./operations.js"
import { newItem } from "./schema.js"
import type { Store } from "./store-settings.js"
import { dims, embedWords } from "./testing/bag-of-words.js"
import { storeOf } from "./testing/store-of.js"

const index = { embed: "./embed.ts:embed", dims, fields: ["text"] }

/** A store whose embedding is a bag of words; `asked` has the texts of each call. */
function indexed(db: Database, over: Partial<Store> = {}) {
  const asked: string[][] = []
  const embed: Store["embed"] = async (_index, texts) => {
    asked.push([...texts])
    return texts.map(embedWords)
  }
  return { store: storeOf(db, { index, embed, ...over }), asked }
}

const put = (store: Store, key: string, value: object, over: object = {}) =>
  putItem(store, anyone, newItem.parse({ namespace: ["notes"], key, value, ...over }))

async function search(store: Store, query: string, over: object = {}) {
  const asked = { namespace: ["notes"], filter: undefined, limit: 10, offset: 0, query, ...over }
  return searchItems(store, anyone, asked)
}

const keysOf = (items: readonly { key: string }[]) => fieldsOf(items, "key")

test("a query gives the nearest items first, with their scores", async () => {
  await using db = await serverDatabase()
  const { store } = indexed(db)
  await put(store, "cats", { text: "the cats sleep all day" })
  await put(store, "dogs", { text: "the dogs run" })
  await put(store, "rain", { text: "rain again" })

  const found = await search(store, "dogs run")

  assert.deepEqual(keysOf(found), ["dogs", "cats", "rain"])
  const [best, , worst] = found
  assert.ok(Math.abs((best?.score ?? 0) - 2 / Math.sqrt(6)) < 1e-6, String(best?.score))
  assert.equal(worst?.score, 0)
  assert.deepEqual(keysOf(await search(store, "dogs run", { limit: 1, offset: 1 })), ["cats"])
  assert.deepEqual(keysOf(await search(store, "cats", { filter: { text: { $ne: "the dogs run" } } })), ["cats", "rain"])
  assert.deepEqual(keysOf(await search(store, "dogs", { namespace: ["other"] })), [])
})

test("an item's score is that of its nearest text, and a put may select the texts", async () => {
  await using db = await serverDatabase()
  const { store, asked } = indexed(db, { index: { ...index, fields: ["title", "parts[*].text"] } })
  await put(store, "long", { title: "misc", parts: [{ text: "about whales" }, { text: "about tea" }, { text: " " }] })
  await put(store, "hidden", { title: "tea tea tea" }, { index: false })
  await put(store, "own", { title: "tea", body: "whales" }, { index: ["body"] })
  await put(store, "bare", { other: "tea" })

  const rows = await db.rows<{ of: string }>(sql`select key || ' ' || field_name as of from store_vectors order by 1`)

  assert.deepEqual(fieldsOf(rows, "of"), ["long parts[*].text.0", "long parts[*].text.1", "long title", "own body"])
  assert.deepEqual(keysOf(await search(store, "whales")), ["own", "long"])
  assert.deepEqual(keysOf(await search(store, "")), ["bare", "own", "hidden", "long"])
  assert.deepEqual(asked[0], ["misc", "about whales", "about tea"])
})

test("S9: an edit keeps the paths that were embedded and the time at which the item expires, unless it names others", async () => {
  await using db = await serverDatabase()
  const { store } = indexed(db, { index: { ...index, fields: ["text", "title"] } })
  const value = { text: "tea", notes: ["a", "b"] }
  await put(store, "hidden", value, { index: false, ttl: 0.5 })
  await put(store, "own", value, { index: ["notes[*]"], ttl: 60 })
  await put(store, "usual", value)
  const rows = () => db.rows<{ at: string | null }>(sql`select key, expires_at::text as at from store order by key`)
  const before = await rows()

  for (const key of ["hidden", "own", "usual"]) {
    await put(store, key, { title: "Tea", text: "tea", notes: ["b", "c"] }, { if_value: value })
  }
  const names = await db.rows<{ of: string }>(sql`select key || ' ' || field_name as of from store_vectors order by 1`)

  assert.deepEqual(await rows(), before)
  assert.deepEqual(fieldsOf(names, "of"), ["own notes[*].0", "own notes[*].1", "usual text", "usual title"])
  await put(store, "own", value, { if_value: { title: "Tea", text: "tea", notes: ["b", "c"] }, ttl: null })
  assert.equal((await rows())[1]?.at, null)
})

test("vectors belong to the current value, whoever changed it", async () => {
  await using db = await serverDatabase()
  const { store } = indexed(db)
  const count = async () => (await db.row<{ n: number }>(sql`select count(*) as n from store_vectors`))?.n
  await put(store, "a", { text: "tea" })

  await put(store, "a", { text: "coffee" })
  const [first] = await search(store, "coffee")
  await db.run(sql`update store set value = '{"text": "water"}'`)
  const afterAnotherTool = await count()
  await put(store, "a", { text: "water" })
  await put(store, "a", { text: "water" }, { index: false })
  const afterNoIndex = await count()
  await put(store, "a", { text: "water" })
  await db.run(sql`delete from store`)

  assert.equal(first?.score, 1)
  assert.deepEqual([afterAnotherTool, afterNoIndex, await count()], [0, 0, 0])
})

test("an embedding that fails or gives the wrong vectors fails the put and changes nothing", async () => {
  await using db = await serverDatabase()
  await put(indexed(db).store, "a", { text: "before" })
  const failing = (answer: () => unknown) => {
    const call = async () => ({ fields: {}, payload: [Buffer.from(JSON.stringify(answer()))] })
    return storeOf(db, { index, embed: embedBy(() => ({ call })) })
  }
  const fail = () => {
    throw new WorkerCallFailed({ error: "RateLimited", message: "too many" })
  }
  const cases: [() => unknown, RegExp][] = [
    [fail, /the embedding "\.\/embed\.ts:embed" .* failed: RateLimited: too many/],
    [() => [[1, 2]], /it gave 2 numbers where store\.index\.dims says 64/],
    [() => [], /it gave 0 vectors for 1 texts/],
    [() => "vectors", /did not return a list of vectors/],
    [() => [[1e300]], /did not return a list of vectors/],
  ]

  for (const [answer, message] of cases) {
    const store = failing(answer)
    await assert.rejects(put(store, "a", { text: "after" }), message)
    await assert.rejects(search(store, "after"), EmbeddingFailed)
  }

  const [item] = await search(indexed(db).store, "before")
  assert.deepEqual([item?.value, item?.score], ['{"text":"before"}', 1])
})

test("vectors of another length, from another embedding, are not compared; a value with too many texts for one call is rejected", async () => {
  await using db = await serverDatabase()
  await put(indexed(db).store, "old", { text: "tea" })
  const short = storeOf(db, { index: { ...index, dims: 2 }, embed: async (_, texts) => texts.map(() => [1, 0]) })

  await put(short, "new", { text: "tea" })

  assert.deepEqual(keysOf(await search(short, "tea")), ["new"])

  const { store } = indexed(db, { index: { ...index, fields: ["list[*]"] } })

  await assert.rejects(put(store, "a", { list: Array.from({ length: 1001 }, (_, n) => `text ${n}`) }), InvalidInput)
})
