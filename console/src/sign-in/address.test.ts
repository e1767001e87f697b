import assert from "node:assert/strict"
import { test } from "node:test"
import { codeIn, pathIn } from "./address.js"

test("the one-time code is read from behind the #", () => {
  assert.equal(codeIn("#code=abc-1"), "abc-1")
  assert.equal(codeIn(""), undefined)
})

test("after signing in only pages of the console are opened", () => {
  assert.equal(pathIn("/deployments/1?tab=logs"), "/deployments/1?tab=logs")
  for (const foreign of [
    "//evil.test/",
    "/\\evil.test",
    "https://evil.test",
    "javascript:alert(1)",
    "/sign-in",
    undefined,
    7,
  ])
    assert.equal(pathIn(foreign), "/", String(foreign))
})
