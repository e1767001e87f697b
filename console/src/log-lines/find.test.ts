import assert from "node:assert/strict"
import { test } from "node:test"
import { highlighted, inParts, matching, nextError } from "./find.js"

const line = (message: string, level: "INFO" | "ERROR" = "INFO") => ({ message, level })

test("the next error is found by level or by what tools print, and from the start after the last", () => {
  const lines = [line("added 3 packages"), line("npm ERR! 404"), line("done"), line("it broke", "ERROR")]

  assert.equal(nextError(lines, -1), 1)
  assert.equal(nextError(lines, 1), 3)
  assert.equal(nextError(lines, 3), 1)
  assert.equal(nextError([line("fine")], -1), -1)
})

test("a search finds text in any case and marks it", () => {
  assert.deepEqual(matching([line("Added 3"), line("removed")], "added "), [line("Added 3")])
  assert.deepEqual(highlighted("an Error is an error", "error"), ["an ", "Error", " is an ", "error", ""])
  assert.deepEqual(highlighted("text", " "), ["text"])
})

test("the fields of a logger are apart from the message", () => {
  assert.deepEqual(inParts('run ended {"attempt":1}'), ["run ended", ' {"attempt":1}'])
  assert.deepEqual(inParts('{"attempt":1}'), ['{"attempt":1}', ""])
  assert.deepEqual(inParts("plain {text}"), ["plain {text}", ""])
})
