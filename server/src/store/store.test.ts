import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { addRun, serverDatabase } from "../checkpoints/testing/claimed-runs.js"
import { officialUri, untilOfficialLeft } from "../testing/official-sessions.js"
import { ClaimLost } from "../workers/fence.js"
import { storeCalls } from "./calls.js"
import { storeOf } from "./testing/store-of.js"

/** Sends a worker's batch, under the claim of a new run unless `fence` is given. */
async function batch(db: Database, operations: object[], fence?: { run_id?: string; claim_id?: string }) {
  const fields = fence ?? (await fenceOfRun(db))
  const reply = await storeCalls(storeOf(db))["store.batch"]?.(fields, [Buffer.from(JSON.stringify(operations))])
  return JSON.parse(String(reply?.payload?.[0]?.data))
}

async function fenceOfRun(db: Database) {
  const { runId, claimId } = await addRun(db)
  return { run_id: runId, claim_id: claimId }
}

const put = (namespace: string[], key: string, value: unknown, over = {}) => ({
  op: "put",
  namespace,
  key,
  value,
  ...over,
})
const get = (namespace: string[], key: string) => ({ op: "get", namespace, key })
const search = (prefix: string[], over = {}) => ({
  op: "search",
  namespace_prefix: prefix,
  limit: 10,
  offset: 0,
  ...over,
})
const keysOf = (items: { key: string }[]) => items.map(({ key }) => key).sort()

test("an item that a graph puts with a time to live that is a float keeps its numbers", async () => {
  await using db = await serverDatabase()
  const value = '{"id":12345678901234567890,"n":[1.0,-0.0]}'
  const place = '"namespace":["n"],"key":"k"'
  const operations = `[{"op":"put",${place},"value":${value},"ttl":5.0},{"op":"get",${place}}]`

  const reply = await storeCalls(storeOf(db))["store.batch"]?.(await fenceOfRun(db), [Buffer.from(operations)])

  assert.ok(String(reply?.payload?.[0]?.data).includes(`"value":${value}`), String(reply?.payload?.[0]?.data))
})

test("a batch reads its own earlier writes", async () => {
  await using db = await serverDatabase()
  const at = ["users", "u1"]

  const results = await batch(db, [
    get(at, "name"),
    put(at, "name", { first: "Ada" }),
    put(at, "name", { first: "Grace" }),
    get(at, "name"),
    put(at, "name", null),
    get(at, "name"),
  ])

  assert.deepEqual([results[0], results[1], results[4], results[5]], [null, null, null, null])
  assert.deepEqual(results[3].value, { first: "Grace" })
  assert.deepEqual([results[3].namespace, results[3].key], [at, "name"])
  assert.match(results[3].created_at, /^\d{4}-\d\d-\d\dT/)
})

test("concurrent batches that delete each other's items wait for each other, and none fails", async () => {
  await using db = await serverDatabase()
  const fence = await fenceOfRun(db)
  const [a, b] = [put(["both"], "a", { n: 1 }), put(["both"], "b", { n: 1 })]
  await batch(db, [a, b], fence)

  const rounds = Array.from({ length: 40 }, () => [
    batch(db, [{ ...b, value: null }, a], fence),
    batch(db, [{ ...a, value: null }, b], fence),
  ])
  const outcomes = await Promise.allSettled(rounds.flat())

  const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [String(outcome.reason)] : []))
  assert.deepEqual(reasons, [])
})

test("S1: a put of a lost claim, or without a claim, writes nothing; a read needs none", async () => {
  await using db = await serverDatabase()

  const late = batch(db, [put(["a"], "k", {})], { run_id: randomUUID(), claim_id: randomUUID() })

  await assert.rejects(late, ClaimLost)
  assert.deepEqual(await batch(db, [get(["a"], "k")]), [null])

  for (const fence of [{}, { run_id: randomUUID() }]) {
    await assert.rejects(batch(db, [get(["a"], "k"), put(["a"], "k", {})], fence), InvalidInput)
  }

  assert.deepEqual(await batch(db, [get(["a"], "k")], {}), [null])
})

test("S2: a value keeps its bytes, also those that jsonb rejects", async () => {
  await using db = await serverDatabase()
  const value = { zz: "zero \u0000", a: "half \ud800", escaped: "\\u0000" }

  const [, item, found] = await batch(db, [
    put(["a"], "k", value),
    get(["a"], "k"),
    search(["a"], { filter: { zz: "zero \u0000" } }),
  ])

  assert.equal(JSON.stringify(item.value), JSON.stringify(value))
  assert.deepEqual(keysOf(found), ["k"])
})

test("S3, S4: a search matches complete labels and compares values of the same type; without an index a query is ignored", async () => {
  await using db = await serverDatabase()
  await batch(db, [
    put(["a"], "one", { n: 1, tag: "x" }),
    put(["a", "b"], "two", { n: 2, tag: "y", nested: { deep: [1] } }),
    put(["a", "b"], "text", { n: "2" }),
    put(["ab"], "other", { n: 3 }),
    put(["a_"], "wild", { n: 3 }),
  ])
  const found = async (prefix: string[], over = {}) => keysOf((await batch(db, [search(prefix, over)]))[0])

  assert.deepEqual(await found([]), ["one", "other", "text", "two", "wild"])
  assert.deepEqual(await found(["a"]), ["one", "text", "two"])
  assert.deepEqual(await found(["a_"]), ["wild"])
  assert.deepEqual(await found(["a"], { filter: { n: 2 } }), ["two"])
  assert.deepEqual(await found(["a"], { filter: { n: { $eq: "2" } } }), ["text"])
  assert.deepEqual(await found(["a"], { filter: { tag: { $ne: "x" } } }), ["text", "two"])
  assert.deepEqual(await found([], { filter: { n: { $gt: 1, $lte: 3 } } }), ["other", "two", "wild"])
  assert.deepEqual(await found([], { filter: { n: { $gte: 2, $lt: 3 } } }), ["two"])
  assert.deepEqual(await found(["a"], { filter: { nested: { deep: [1] } } }), ["two"])
  assert.equal((await found([], { limit: 2, offset: 4 })).length, 1)
  await assert.rejects(found([], { filter: { n: { $like: "x" } } }), InvalidInput)

  const [, items] = await batch(db, [put(["pets"], "k", { text: "cats" }), search(["pets"], { query: "dogs" })])

  assert.deepEqual(keysOf(items), ["k"])
})

test("S5: namespaces are listed by prefix, suffix and depth", async () => {
  await using db = await serverDatabase()
  const namespaces = ["a.b.c", "a.x.c", "a.b", "d.b", "a+.c"]
  const puts = namespaces.map((namespace) => put(namespace.split("."), "k", {}))
  await batch(db, puts)
  const list = async (over: object): Promise<string[]> => {
    const [found] = await batch(db, [{ op: "list_namespaces", limit: 100, offset: 0, ...over }])
    return found.map((labels: string[]) => labels.join("."))
  }
  const matching = (match_type: string, path: string[]) => list({ match_conditions: [{ match_type, path }] })

  assert.equal((await list({ limit: undefined, offset: undefined })).length, 5)
  assert.deepEqual(await matching("prefix", ["a", "*", "c"]), ["a.b.c", "a.x.c"])
  assert.deepEqual(await matching("prefix", ["a+"]), ["a+.c"])
  assert.deepEqual(await matching("suffix", ["*", "b"]), ["a.b", "d.b"])
  assert.deepEqual(await list({ max_depth: 1 }), ["a", "a+", "d"])
  assert.deepEqual(await list({ limit: 1, offset: 1, max_depth: 1 }), ["a+"])
})

test("invalid namespaces and keys are rejected", async () => {
  await using db = await serverDatabase()

  await assert.rejects(batch(db, [put([], "k", {})]), /Namespace is required/)
  await assert.rejects(batch(db, [put(["a.b"], "k", {})]), /cannot be empty or contain periods. Received: a\.b/)
  await assert.rejects(batch(db, [get(["a", ""], "k")]), InvalidInput)
  await assert.rejects(batch(db, [put(["a"], "k\u0000", {})]), InvalidInput)
  await assert.rejects(batch(db, [{ op: "burn" }]), InvalidInput)
})

test("S6: the official JavaScript store reads the items, and a value that another tool changed is read", async () => {
  await using db = await serverDatabase()
  await batch(db, [put(["users", "u1"], "name", { first: "Ada" })])
  const official = PostgresStore.fromConnString(officialUri(db))

  await official.setup()
  const item = await official.get(["users", "u1"], "name")
  const found = await official.search(["users"], { filter: { first: "Ada" } })
  await official.stop()
  await untilOfficialLeft(db)

  assert.deepEqual(item?.value, { first: "Ada" })
  assert.deepEqual(item?.namespace, ["users", "u1"])
  assert.deepEqual(keysOf(found), ["name"])

  await batch(db, [put(["a"], "k", { n: 1 })])

  await db.run(sql`update store set value = '{"n": 2}' where key = 'k'`)

  const [changed] = await batch(db, [get(["a"], "k")])
  assert.deepEqual(changed.value, { n: 2 })
})
