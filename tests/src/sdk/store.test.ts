/** Every method of the official client's `store`, on a real server whose worker makes the vectors. */

import assert from "node:assert/strict"
import { test } from "node:test"
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
  })
}
