import assert from "node:assert/strict"
import { test } from "node:test"
import { handlerOf, parseFilter } from "./rules.js"

test("only the most specific of four handlers decides", () => {
  const all = ["*", "*:create", "threads", "threads:create", "store"]

  assert.equal(handlerOf("threads:create", all), "threads:create")
  assert.equal(handlerOf("threads:read", all), "threads")
  assert.equal(handlerOf("assistants:create", all), "*:create")
  assert.equal(handlerOf("assistants:read", all), "*")
  assert.equal(handlerOf("assistants:read", ["threads", "*:create", "assistants:create"]), undefined)
})

test("an unknown part of a filter is an error at any depth", () => {
  const wrong: unknown[] = [
    { owner: { $regex: ".*" } },
    { owner: { $eq: "a", $contains: "b" } },
    { owner: {} },
    { owner: { id: 1 } },
    { owner: ["a"] },
    { $not: [{ owner: "a" }] },
    { $or: { owner: "a" } },
    { $or: [{ a: 1 }, { $and: [{ b: { $gt: 1 } }] }] },
    { $and: ["a"] },
    { owner: "a\u0000" },
    { "own\u0000er": "a" },
    ["owner"],
    "owner",
  ]

  for (const filter of wrong) assert.throws(() => parseFilter(filter), JSON.stringify(filter))
})
