import assert from "node:assert/strict"
import { test } from "node:test"
import { graphIdProblem, parseJsonFile } from "./project-file.js"

test("a file may begin with a byte order mark, and nothing else changes", () => {
  assert.deepEqual(parseJsonFile('\ufeff{"a":1}'), { a: 1 })
  assert.deepEqual(parseJsonFile('{"a":"\ufeff"}'), { a: "\ufeff" })
  assert.throws(() => parseJsonFile("{"), SyntaxError)
})

test("ids of graphs that cannot be kept are named", () => {
  assert.equal(graphIdProblem({ agent: "a", constructor: "b" }), undefined)
  assert.match(graphIdProblem({ "": "a" }) ?? "", /empty id/)
  assert.match(graphIdProblem(JSON.parse('{"__proto__": "a"}')) ?? "", /"__proto__"/)
  assert.equal(graphIdProblem(null), undefined)
})
