import assert from "node:assert/strict"
import { test } from "node:test"
import {
  cutText,
  foundItems,
  itemId,
  itemLimit,
  labelsOf,
  namespaceRows,
  namespaceText,
  pathIn,
  pathOf,
  placeOf,
  type StoreItem,
} from "./namespaces.js"

test("namespaces are a tree with their parents, sorted part by part", () => {
  const rows = namespaceRows([["users", "u2"], ["users", "u1", "facts"], ["a.b"], ["a"], ["users-old"]])

  const tree = rows.map(({ label, depth }) => `${"  ".repeat(depth)}${label}`)
  assert.deepEqual(tree, ["a", "a.b", "users", "  u1", "    facts", "  u2", "users-old"])
  assert.deepEqual(rows[4]?.path, ["users", "u1", "facts"])
})

const item = (key: string, value: object, score?: number): StoreItem => ({
  namespace: ["n"],
  key,
  value: value as StoreItem["value"],
  created_at: "",
  updated_at: "",
  ...(score !== undefined && { score }),
})

test("a store without an index is searched by text, one with an index by its own order", () => {
  const plain = [item("Paris", { note: "x" }), item("b", { note: "near PARIS" }), item("c", {})]
  const ranked = [item("c", {}, 0.9), item("d", {}, 0.1)]

  const keys = foundItems(plain, "paris").map(({ key }) => key)
  assert.deepEqual(keys, ["Paris", "b"])
  assert.equal(foundItems(plain, "").length, 3)
  assert.equal(foundItems(ranked, "paris").length, 2)
  assert.notEqual(itemId({ namespace: ["a"], key: "b" }), itemId({ namespace: [], key: '["a","b"]' }))
})

test("a place is the same after it was a text to edit, or part of an address", () => {
  const cases = { "users / u1": ["users", "u1"], '["files","a/b"]': ["files", "a/b"], '[" a"]': [" a"], "": [] }
  for (const [text, labels] of Object.entries(cases)) {
    assert.deepEqual([namespaceText(labels), labelsOf(text)], [text, labels])
  }
  assert.deepEqual(labelsOf("a/ b /"), ["a", "b"])

  const place = { namespace: ["n", '["x"]'], key: "7" }
  for (const raw of [pathOf(place), itemId(place)]) assert.deepEqual(placeOf(pathIn(raw) ?? []), place)
  for (const raw of [undefined, "", "profile", 5, ["n"], [1, 2]]) assert.equal(pathIn(raw), undefined)
})

test("a list says what was not read, unless the items were ranked by meaning", () => {
  const full = Array.from({ length: itemLimit }, (_, n) => item(`i${n}`, {}))
  const ranked = full.map((one) => ({ ...one, score: 0.5 }))

  assert.equal(cutText(full.slice(1), "", 1), undefined)
  assert.equal(cutText(full, "", 2), undefined)
  assert.match(cutText(full, "", 1) ?? "", /^The 500 items that changed last/)
  assert.match(cutText(full, "paris", 1) ?? "", /^Only the 500 items that changed last were searched/)
  assert.equal(cutText(ranked, "paris", 1), undefined)
})
