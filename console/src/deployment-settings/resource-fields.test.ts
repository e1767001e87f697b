import assert from "node:assert/strict"
import { test } from "node:test"
import { editsOf, problemOf, shownTexts, specOf, textsOf } from "./resource-fields.js"

test("only edited fields are changed, and an empty field asks for the default", () => {
  const present = { min_scale: 1, cpu: 2, db_cpu: 4 }

  const spec = specOf(present, { cpu: "", max_scale: "3" })

  assert.deepEqual(spec, { min_scale: 1, max_scale: 3, cpu: null, db_cpu: 4 })
})

test("a field that nobody edits shows what the deployment has by now, and keeps it when another one is saved", () => {
  const edits = { cpu: "2" }
  const changedByOthers = { min_scale: 2, cpu: 1 }

  assert.deepEqual(shownTexts(changedByOthers, edits), { min_scale: "2", max_scale: "", cpu: "2", memory_mb: "" })
  assert.deepEqual(specOf(changedByOthers, edits), { min_scale: 2, cpu: 2 })
})

test("an edit that the deployment has already is none", () => {
  const present = { min_scale: 1, cpu: 2 }

  assert.deepEqual(editsOf(textsOf(present), { cpu: "2", min_scale: "3", max_scale: "" }), { min_scale: "3" })
})

test("a wrong field is named in a sentence", () => {
  const texts = textsOf({ min_scale: 1, max_scale: 2 })

  assert.equal(problemOf(texts), undefined)
  assert.match(problemOf({ ...texts, cpu: "many" }) ?? "", /^Processors of each: a number from 0.1/)
  assert.match(problemOf({ ...texts, memory_mb: "1.5" }) ?? "", /whole number/)
  assert.match(problemOf({ ...texts, min_scale: "3" }) ?? "", /not fewer/)
})
