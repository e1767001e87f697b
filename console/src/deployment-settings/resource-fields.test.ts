import assert from "node:assert/strict"
import { test } from "node:test"
import { problemOf, specOf, textsOf } from "./resource-fields.js"

test("what the form does not show stays, and an empty field asks for the default", () => {
  const present = { min_scale: 1, cpu: 2, db_cpu: 4 }

  const spec = specOf(present, { ...textsOf(present), cpu: "", max_scale: "3" })

  assert.deepEqual(spec, { min_scale: 1, max_scale: 3, cpu: null, memory_mb: null, db_cpu: 4 })
})

test("a wrong field is named in a sentence", () => {
  const texts = textsOf({ min_scale: 1, max_scale: 2 })

  assert.equal(problemOf(texts), undefined)
  assert.match(problemOf({ ...texts, cpu: "many" }) ?? "", /^Processors of each: a number from 0.1/)
  assert.match(problemOf({ ...texts, memory_mb: "1.5" }) ?? "", /whole number/)
  assert.match(problemOf({ ...texts, min_scale: "3" }) ?? "", /not fewer/)
})
