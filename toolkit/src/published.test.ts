import assert from "node:assert/strict"
import { test } from "node:test"
import { docsAddress } from "./published.js"

test("a page's address is its path in the repository until the site is published", () => {
  assert.equal(docsAddress("errors", "thread_busy", {}), "docs/errors.md#thread_busy")
  assert.equal(docsAddress("errors", undefined, {}), "docs/errors.md")
  assert.equal(
    docsAddress("errors", "thread_busy", { docsSite: "https://docs.example.com" }),
    "https://docs.example.com/errors#thread_busy",
  )
})
