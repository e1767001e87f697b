import assert from "node:assert/strict"
import { test } from "node:test"
import { metadataOf, unreadIn } from "./metadata-pairs.js"

test("metadata is written as pairs or as JSON", () => {
  assert.deepEqual(metadataOf('customer:42, plan:"pro plus" vip:true zip:"042" url:a:b'), {
    customer: 42,
    plan: "pro plus",
    vip: true,
    zip: "042",
    url: "a:b",
  })
  assert.deepEqual(metadataOf('{"deep":{"of":1}}'), { deep: { of: 1 } })
  const texts = ['a:1, b:"c d"', "customer 42 plan:pro", '{"half', '{"a":1}', ""]
  assert.deepEqual(texts.map(unreadIn), [undefined, "customer 42", '{"half', undefined, undefined])
  assert.deepEqual([metadataOf("cust"), metadataOf('{"half'), metadataOf("")], [{}, {}, {}])
})
