import assert from "node:assert/strict"
import { test } from "node:test"
import { highlighted, inParts, nextError, shownLine } from "./find.js"

const line = (message: string, level: "INFO" | "ERROR" = "INFO") => ({ message, level })

test("the next error is found by level or by what tools print, and from the start after the last", () => {
  const lines = [line("added 3 packages"), line("npm ERR! 404"), line("done"), line("it broke", "ERROR")]

  assert.equal(nextError(lines, -1), 1)
  assert.equal(nextError(lines, 1), 3)
  assert.equal(nextError(lines, 3), 1)
  assert.equal(nextError([line("fine")], -1), -1)
})

test("what was searched is marked, in any case", () => {
  assert.deepEqual(highlighted("an Error is an error", "error"), ["an ", "Error", " is an ", "error", ""])
  assert.deepEqual(highlighted("text", " "), ["text"])
})

test("the fields of a logger are apart from the message", () => {
  assert.deepEqual(inParts('run ended {"attempt":1}'), ["run ended", ' {"attempt":1}'])
  assert.deepEqual(inParts('{"attempt":1}'), ['{"attempt":1}', ""])
  assert.deepEqual(inParts("plain {text}"), ["plain {text}", ""])
})

test("a stack trace is shown as lines, apart from the other fields; every other line stays what it is", () => {
  const stack = "Error: no order\n    at a (a.ts:1:2)\n    at b"
  const line = `run failed ${JSON.stringify({ attempt: 1, err: { type: "Error", stack } })}`

  assert.deepEqual(shownLine(line), {
    words: "run failed",
    fields: ' {"attempt":1,"err":{"type":"Error"}}',
    folded: stack.split("\n"),
  })
  assert.deepEqual(shownLine("Traceback:\n  File a\nKeyError: 'x'").folded, ["  File a", "KeyError: 'x'"])
  assert.deepEqual(shownLine('run ended {"attempt":1}'), { words: "run ended", fields: ' {"attempt":1}', folded: [] })
  assert.deepEqual(shownLine('no JSON {"a}'), { words: "no JSON", fields: ' {"a}', folded: [] })
})
