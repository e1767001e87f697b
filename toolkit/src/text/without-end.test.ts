import assert from "node:assert/strict"
import { test } from "node:test"
import { withoutEnd } from "./without-end.js"

test("all of these characters are removed at the end, and none before", () => {
  assert.equal(withoutEnd("/a/b//", "/"), "/a/b")
  assert.equal(withoutEnd("a/\\/", "/\\"), "a")
  assert.equal(withoutEnd("//", "/"), "")
  assert.equal(withoutEnd("", "/"), "")
  assert.equal(withoutEnd("a", "/"), "a")
})
