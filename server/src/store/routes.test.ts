import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshHttp } from "../testing/test-http.js"

const place = { namespace: ["users", "ann"], key: "k" }
const items = "/store/items"

test("items can be put, read, changed, searched, listed and deleted", async () => {
  await using http = await freshHttp()
  const get = async () => (await http.send("GET", `${items}?namespace=users.ann&key=k`)).json as Record<string, unknown>

  const put = await http.send("PUT", items, { ...place, value: { n: 1 }, index: ["n"], ttl: 5, unknown: true })
  const first = await get()
  await http.send("PUT", items, { ...place, value: { n: 2 }, index: null, ttl: null })
  const second = await get()
  const repeated = await http.send("GET", `${items}?namespace=users&namespace=ann&key=k&refresh_ttl=false`)
  const found = await http.send("POST", `${items}/search`, { namespace_prefix: ["users"], filter: { n: { $gte: 2 } } })
  const listed = await http.send("POST", "/store/namespaces", { prefix: ["users"], suffix: ["*"], max_depth: 1 })
  const deleted = await http.send("DELETE", items, place)
  const again = await http.send("DELETE", items, place)

  assert.deepEqual([put.status, put.text], [204, ""])
  assert.deepEqual([first.namespace, first.key, first.value], [["users", "ann"], "k", { n: 1 }])
  assert.deepEqual([second.value, second.created_at], [{ n: 2 }, first.created_at])
  assert.deepEqual(repeated.json, second)
  assert.deepEqual(found.json, { items: [second] })
  assert.deepEqual(listed.json, { namespaces: [["users"]] })
  assert.deepEqual([deleted.status, again.status], [204, 204])
  assert.deepEqual([await get(), (await http.send("GET", `${items}?namespace=none&key=k`)).text], [null, "null"])
})

test("S9: of two puts at once for the value that both read one succeeds, and none after the item was deleted", async () => {
  await using http = await freshHttp()
  const put = async (n: number, if_value: object | null) => {
    const { status, json } = await http.send("PUT", items, { ...place, value: { n, b: [1, "\u0000"] }, if_value })
    return status === 204 ? status : (json as { code: string }).code
  }
  const bothPut = async (if_value: object | null) => (await Promise.all([put(1, if_value), put(2, if_value)])).sort()

  for (const seen of [null, { b: [1, "\u0000"], n: 0 }]) {
    assert.deepEqual(await bothPut(seen), [204, "item_changed"])
    await http.send("PUT", items, { ...place, value: { n: 0, b: [1, "\u0000"] } })
  }
  assert.equal(await put(3, null), "item_changed")
  await http.send("DELETE", items, place)
  assert.equal(await put(3, { n: 0, b: [1, "\u0000"] }), "item_changed")
})

test("invalid requests are rejected with the reference server's messages, and change nothing", async () => {
  await using http = await freshHttp()
  const put = (over: object) => ["PUT", items, { ...place, value: {}, ...over }] as const
  const search = (body: unknown) => ["POST", `${items}/search`, body] as const
  const list = (body: unknown) => ["POST", "/store/namespaces", body] as const
  const labels = /Namespace labels cannot be empty or contain periods\. Received: /
  const manyConditions = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n]))
  const cases: [readonly [string, string, unknown?], number, RegExp][] = [
    [put({ namespace: [] }), 400, /^Namespace is required$/],
    [put({ namespace: ["a.b"] }), 422, /Received: a\.b/],
    [put({ namespace: ["a\u0000"] }), 422, /namespace: expected text without U\+0000/],
    [put({ namespace: ["\ud800"] }), 422, /namespace: expected text without U\+0000/],
    [put({ key: "a\u0000" }), 422, /body\.key/],
    [put({ key: "k".repeat(3000) }), 422, /at most 1800 bytes/],
    [put({ value: null }), 422, /body\.value/],
    [put({ index: [""] }), 422, /body\.index/],
    [put({ ttl: 0 }), 422, /body\.ttl/],
    [put({ if_value: [] }), 422, /body\.if_value/],
    [put({ ttl: 1e300 }), 422, /body\.ttl/],
    [["GET", `${items}?namespace=a&key=a&key=b`], 422, /query\.key/],
    [["GET", `${items}?namespace=a..b&key=k`], 422, labels],
    [["GET", `${items}?namespace=a.b&namespace=c&key=k`], 422, labels],
    [["GET", `${items}?namespace=a&key=%00`], 422, /query\.key/],
    [["DELETE", items, { namespace: ["a.b"], key: "k" }], 422, labels],
    [search({ namespace_prefix: ["a.b"] }), 422, labels],
    [search({ offset: 2 ** 53 }), 422, /body\.offset/],
    [search({ filter: { n: { $like: 1 } } }), 422, /expected one of \$eq/],
    [search({ filter: manyConditions }), 422, /at most 50 conditions/],
    [list({ prefix: ["a.b"] }), 422, labels],
    [list({ suffix: [""] }), 422, labels],
  ]

  for (const [[method, path, body], status, detail] of cases) {
    const reply = await http.send(method, path, body)

    const said = `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`
    assert.equal(reply.status, status, said)
    const { detail: told, code } = reply.json as { detail: string; code: string }
    assert.match(told, detail, said)
    assert.ok(code, said)
  }
  assert.equal((await http.db.row<{ n: number }>(sql`select count(*) as n from store`))?.n, 0)
})

test("a prefix or suffix that is longer than any namespace is rejected", async () => {
  await using http = await freshHttp()
  await http.send("PUT", "/store/items", { namespace: Array(100).fill("a"), key: "k", value: {} })
  const list = (path: object) => http.send("POST", "/store/namespaces", path)

  const longest = Array(900).fill("*")
  for (const path of [{ prefix: longest }, { suffix: longest }]) assert.equal((await list(path)).status, 200)
  for (const path of [{ prefix: Array(20_000).fill("*") }, { suffix: Array(20_000).fill("*") }]) {
    const { status, text } = await list(path)
    assert.equal(status, 422, text)
  }
})
