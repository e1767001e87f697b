/** Access rules for items (agent-server-api §9, §12.3). */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import type { Sql } from "@superstep/toolkit/db/sql"
import { Conflict, Forbidden, InvalidInput, NotFound, Refused } from "@superstep/toolkit/errors/errors"
import { anyone, type Caller } from "../auth/caller.js"
import { callerWith } from "../testing/callers.js"
import { serverDatabase } from "../testing/test-server.js"
import { deleteItem, getItem, listNamespaces, putItem, searchItems } from "./operations.js"
import { newItem } from "./schema.js"
import type { Store } from "./store-settings.js"
import { storeOf } from "./testing/store-of.js"

const [ann, bob] = [callerWith({ owner: "ann" }), callerWith({ owner: "bob" })]

const put = (store: Store, caller: Caller, key: string, value: object, namespace = ["n"], if_value?: object | null) =>
  putItem(store, caller, newItem.parse({ namespace, key, value, if_value }))
const at = (key: string, namespace = ["n"]) => ({ namespace, key })
const search = async (store: Store, caller: Caller) =>
  (await searchItems(store, caller, { namespace: [], limit: 10, offset: 0 })).map(({ key }) => key)
const spaces = (store: Store, caller: Caller) => listNamespaces(store, caller, { limit: 10, offset: 0 })

test("a caller sees, changes and deletes only items that its filter matches", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db)
  await put(store, ann, "a", { owner: "ann" })
  await put(store, bob, "b", { owner: "bob" }, ["n", "deep"])

  assert.deepEqual([await search(store, ann), await search(store, bob)], [["a"], ["b"]])
  assert.deepEqual([await spaces(store, ann), await spaces(store, bob)], [[["n"]], [["n", "deep"]]])
  assert.equal(await getItem(store, bob, at("none")), null)
  await assert.rejects(getItem(store, bob, at("a")), NotFound)
  await assert.rejects(put(store, bob, "a", { owner: "bob" }), NotFound)
  // What a caller may not see it cannot guess either.
  for (const guess of [null, { owner: "ann" }]) {
    await assert.rejects(put(store, bob, "a", { owner: "bob" }, ["n"], guess), NotFound)
  }
  await assert.rejects(put(store, bob, "new", { owner: "ann" }), Forbidden)
  await assert.rejects(deleteItem(store, bob, at("a")), NotFound)
  await assert.rejects(deleteItem(store, bob, at("none")), Forbidden)

  assert.deepEqual((await getItem(store, ann, at("a")))?.value, '{"owner":"ann"}')
  assert.deepEqual(await search(store, anyone), ["b", "a"])
  await put(store, ann, "a", { owner: "ann", n: 2 })
  await deleteItem(store, ann, at("a"))
  assert.deepEqual(await search(store, anyone), ["b"])
})

test("a filter may use the item's namespace and key", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db)
  const below = callerWith({ namespace: { $contains: "ann" } })
  const oneKey = callerWith({ key: "k" })

  await put(store, below, "k", {}, ["users", "ann"])
  await assert.rejects(put(store, below, "k", {}, ["users", "bob"]), Forbidden)
  await put(store, anyone, "other", { key: "k" }, ["users", "ann"])

  assert.deepEqual(await search(store, below), ["other", "k"])
  assert.deepEqual(await search(store, oneKey), ["k"])
  await deleteItem(store, oneKey, at("k", ["users", "nobody"]))
})

test("a rule gets null for what a request leaves out", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db)
  const seen: object[] = []
  const noting = callerWith(undefined, (value) => {
    seen.push(value)
    return value
  })

  await put(store, noting, "k", {})
  await search(store, noting)
  await spaces(store, noting)

  assert.deepEqual(seen, [
    { namespace: ["n"], key: "k", value: {}, index: null },
    { namespace: [], filter: null, query: null, limit: 10, offset: 0 },
    { namespace: null, suffix: null, max_depth: null, limit: 10, offset: 0 },
  ])
})

test("two callers that put the same key at once do not overwrite each other's items", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db)

  for (let round = 0; round < 10; round++) {
    const key = `k${round}`
    const results = await Promise.allSettled([
      put(store, ann, key, { owner: "ann" }),
      put(store, bob, key, { owner: "bob" }),
    ])

    assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"])
    const winner = results[0]?.status === "fulfilled" ? "ann" : "bob"
    assert.equal((await getItem(store, anyone, at(key)))?.value, `{"owner":"${winner}"}`)
  }
})

test("a rule may change the namespace, which is validated like that of a request", async () => {
  await using db = await serverDatabase()
  const store = storeOf(db)
  const own = callerWith(undefined, (value) => ({
    ...value,
    namespace: ["users", "ann", ...((value.namespace as string[]) ?? [])],
  }))

  await put(store, own, "k", { n: 1 }, ["n"], null)
  await assert.rejects(put(store, own, "k", { n: 2 }, ["n"], null), Conflict)
  await putItem(store, anyone, newItem.parse({ namespace: ["n"], key: "public", value: {} }))

  assert.deepEqual((await getItem(store, anyone, at("k", ["users", "ann", "n"])))?.value, '{"n":1}')
  assert.deepEqual((await getItem(store, own, at("k")))?.value, '{"n":1}')
  assert.deepEqual(await search(store, own), ["k"])
  assert.deepEqual(await spaces(store, own), [["users", "ann", "n"]])
  await deleteItem(store, own, at("k"))
  assert.deepEqual(await search(store, anyone), ["public"])
  for (const [namespace, refusal] of [
    [["a.b"], InvalidInput],
    [[], Refused],
    ["ann", InvalidInput],
  ] as const) {
    const wrong = callerWith(undefined, (value) => ({ ...value, namespace }))
    await assert.rejects(put(store, wrong, "k", {}), refusal)
  }
})

/** A database where another caller puts an item once, after a read that found none. */
function putAfterRead(db: Database, putItem: () => Promise<void>): Database {
  let isPut = false
  const after = async <T>(found: T): Promise<T> => {
    if (!isPut && !found) {
      isPut = true
      await putItem()
    }
    return found
  }
  return {
    ...db,
    row: async <Row extends object>(statement: Sql) => after(await db.row<Row>(statement)),
    run: async (statement) => after(await db.run(statement)),
  }
}

test("an item that its owner puts while it is read or deleted is not hidden from the owner", async () => {
  await using db = await serverDatabase()
  const meanwhile = (key: string, by: Caller, value: object) =>
    storeOf(putAfterRead(db, () => put(storeOf(db), by, key, value)))

  const found = await getItem(meanwhile("a", ann, { owner: "ann" }), ann, at("a"))
  await deleteItem(meanwhile("b", ann, { owner: "ann" }), ann, at("b"))

  assert.equal(found, null)
  assert.deepEqual(await search(storeOf(db), anyone), ["a"])
  await assert.rejects(deleteItem(meanwhile("c", bob, { owner: "bob" }), ann, at("c")), NotFound)
})
