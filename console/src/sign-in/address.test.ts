import assert from "node:assert/strict"
import { test } from "node:test"
import { codeIn, invitationIn, pathIn, problemIn } from "./address.js"

test("the one-time code is read from behind the #", () => {
  assert.equal(codeIn("#code=abc-1"), "abc-1")
  assert.equal(codeIn(""), undefined)
})

test("an invitation and a problem are read from behind the #; a link cannot put words into the page", () => {
  assert.equal(invitationIn("#invitation=abc-1"), "abc-1")
  assert.deepEqual([invitationIn("#code=abc-1"), problemIn("#code=abc-1")], [undefined, undefined])
  assert.equal(problemIn("#problem=not_a_member")?.next, "Ask an admin of the workspace for an invitation.")
  const other = problemIn("#problem=sign_in_failed")
  for (const code of ["Call 555-1234 now", "toString", "__proto__", ""])
    assert.equal(problemIn(`#problem=${code}`), other, code)
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
