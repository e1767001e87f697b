/** Every method of the official client's `store`, on a real server whose worker makes the vectors. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { startServerWithDatabase } from "../testing/agent-servers.js"
import { languagesOf } from "../testing/languages.js"

const languages = languagesOf({
  JavaScript: "tests/graphs/store.json",
  Python: "workers/python/testing/twins/store.json",
})

for (const { name, env, skip } of languages) {
  test(`the client's store keeps, finds by meaning, lists and forgets items, and graphs in ${name} see the same`, {
    skip,
  }, async (t) => {
    await using server = await startServerWithDatabase({ env })
    const { store, runs } = server.client
    const at = ["users", "ann"]
    const refused = (status: number, detail: RegExp) => (error: Error) =>
      error.message.includes(`HTTP ${status}`) && detail.test(error.message)

    await t.test("putItem, getItem, deleteItem", async () => {
      await store.putItem(at, "name", { first: "Ada" })
      const first = await store.getItem(at, "name")
      await store.putItem(at, "name", { first: "Grace" }, { ttl: null })
      const second = await store.getItem(at, "name", { refreshTtl: true })
      await store.deleteItem(at, "name")

      assert.deepEqual([first?.namespace, first?.key, first?.value], [at, "name", { first: "Ada" }])
      assert.deepEqual([second?.value, second?.createdAt], [{ first: "Grace" }, first?.createdAt])
      assert.ok((second?.updatedAt ?? "") >= (first?.updatedAt ?? "z"))
      assert.equal(await store.getItem(at, "name"), null)
      await store.deleteItem(at, "name")
    })

    await t.test("searchItems by filter, by page and by meaning", async () => {
      await store.putItem(["animals", "cat"], "cat", { text: "cats sleep all day", legs: 4 })
      await store.putItem(["animals", "bird"], "bird", { text: "birds fly away", legs: 2 })
      await store.putItem(["animals", "secret"], "secret", { text: "birds fly away", legs: 2 }, { index: false })
      const keys = async (prefix: string[], options: object) =>
        (await store.searchItems(prefix, options)).items.map(({ key }) => key)

      assert.deepEqual(await keys(["animals"], {}), ["secret", "bird", "cat"])
      assert.deepEqual(await keys(["animals"], { limit: 1, offset: 1 }), ["bird"])
      assert.deepEqual(await keys(["animals"], { filter: { legs: { $gt: 2 } } }), ["cat"])
      assert.deepEqual(await keys(["animals", "bird"], { filter: { legs: 2 } }), ["bird"])
      assert.deepEqual(await keys(["animals"], { query: "who flies? birds fly" }), ["bird", "cat"])
      const { items } = await store.searchItems(["animals"], { query: "birds fly away", refreshTtl: false, limit: 1 })
      assert.deepEqual(fieldsOf(items, "key", "score"), [["bird", 1]])
    })

    await t.test("listNamespaces by prefix, suffix and depth", async () => {
      const { namespaces } = await store.listNamespaces({ prefix: ["animals"] })
      const cut = await store.listNamespaces({ maxDepth: 1 })
      const bySuffix = await store.listNamespaces({ suffix: ["cat"], limit: 5, offset: 0 })

      assert.deepEqual(namespaces, [
        ["animals", "bird"],
        ["animals", "cat"],
        ["animals", "secret"],
      ])
      assert.deepEqual(cut.namespaces, [["animals"]])
      assert.deepEqual(bySuffix.namespaces, [["animals", "cat"]])
    })

    await t.test("a graph's items have vectors too, and a client finds them", async () => {
      const input = { text: "tea in the garden", question: "garden tea" }
      const state = (await runs.wait(null, "recall", { input })) as { found: unknown }
      const { items } = await store.searchItems(["graph"], { query: "tea" })

      assert.deepEqual(state.found, [["text", true]])
      assert.deepEqual(fieldsOf(items, "key"), ["text"])
    })

    await t.test("an embedding that fails fails the put of a client and of a graph, with its own words", async () => {
      const put = store.putItem(at, "odd", { text: "unspeakable" })
      await assert.rejects(put, refused(409, /recall\.(ts|py):embed.*no words for/))
      const state = (await runs.wait(null, "recall", { input: { text: "unspeakable" }, raiseError: false })) as {
        __error__?: { error: string; message: string }
      }

      assert.equal(await store.getItem(at, "odd"), null)
      assert.equal(state.__error__?.error, "EmbeddingFailed")
      assert.match(state.__error__?.message ?? "", /no words for/)
    })

    await t.test("items are gone when their time is over, and reading prolongs it", async () => {
      await store.putItem(at, "brief", { n: 1 }, { ttl: 0.5 })
      await store.putItem(at, "usual", { n: 2 })
      await store.getItem(at, "usual")
      const minutes = await server.db.rows<{ key: string; ttl: number }>(
        sql`select key, ttl_minutes as ttl from store where prefix = 'users.ann' order by key`,
      )
      await server.db.run(sql`update store set expires_at = now() - interval '1 second' where key = 'brief'`)

      assert.deepEqual(minutes, [
        { key: "brief", ttl: 0.5 },
        { key: "usual", ttl: 60 },
      ])
      assert.equal(await store.getItem(at, "brief"), null)
      assert.deepEqual((await store.getItem(at, "usual"))?.value, { n: 2 })
    })

    await t.test("what cannot be is refused, by the client or by the server", async () => {
      await assert.rejects(store.putItem(["a.b"], "k", {}), /Invalid namespace label 'a\.b'/)
      await assert.rejects(store.putItem([], "k", {}), refused(400, /Namespace is required/))
      await assert.rejects(store.putItem(["a", ""], "k", {}), refused(422, /cannot be empty or contain periods/))
      await assert.rejects(store.putItem(["a"], "k", [] as never), refused(422, /body\.value/))
      await assert.rejects(store.searchItems(["a"], { limit: 0 }), refused(422, /body\.limit/))
      await assert.rejects(store.searchItems(["a"], { filter: { n: { $in: [1] } } }), refused(422, /expected one of/))
      await assert.rejects(store.listNamespaces({ maxDepth: -1 }), refused(422, /body\.max_depth/))
    })
  })
}
