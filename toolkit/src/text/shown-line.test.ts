import assert from "node:assert/strict"
import { test } from "node:test"
import { shownLine } from "./shown-line.js"

test("an ordinary line stays as it is, in every script", () => {
  for (const line of ["fix: the greeting (#12)", "répare l’accueil", "挨拶を直す", "תיקון", "👩‍👩‍👧 family"])
    assert.equal(shownLine(line, 100), line)
})

test("a text becomes one line without control characters", () => {
  assert.equal(shownLine("  one\r\n\n two\u2028three\t\u0000four\u001b[31mfive  ", 100), "one two three four [31mfive")
  assert.equal(shownLine("\u0000\n ", 100), "")
})

test("characters that change the direction of writing are left out", () => {
  assert.equal(shownLine("safe\u202e txt.exe\u202c \u2066x\u2069\u200f", 100), "safe txt.exe x")
})

test("a long text is cut, and never inside a character", () => {
  assert.equal(shownLine("x".repeat(1_000_000), 5), "xxxx…")
  assert.equal(shownLine("abc😀def", 5), "abc…")
  assert.equal(shownLine("abc😀", 5), "abc😀")
  assert.equal(shownLine("half \ud83d", 100), "half \ufffd")
})
