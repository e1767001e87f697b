import assert from "node:assert/strict"
import { test } from "node:test"
import { formatLogLine, lineReader } from "./log-lines.js"

const plain = (_: unknown, text: string): string => text
const format = (line: string): string => formatLogLine(line, plain)
const localTime = (iso: string): string => new Date(iso).toTimeString().slice(0, 8)

test("a line of our log is formatted as time, level, message and fields", () => {
  const time = "2026-11-20T12:03:04.000Z"
  const line = { level: "info", time, process: "server", pid: 7, run_id: "r1", duration_ms: 3, msg: "run finished" }

  assert.equal(format(JSON.stringify(line)), `${localTime(time)}  info   run finished  run_id=r1  duration_ms=3`)
})

test("a text of several lines is shown below, unchanged", () => {
  const frame = "> 3 | const x =\n    |          ^"

  const lines = format(JSON.stringify({ level: "error", msg: "graph does not load", code_frame: frame })).split("\n")

  assert.match(lines[0] ?? "", /graph does not load$/)
  assert.deepEqual(lines.slice(1), ["    > 3 | const x =", "        |          ^"])
})

test("a warning shows the message of its error, and an error also the stack", () => {
  const err = { message: "connection lost", stack: "Error: connection lost\n    at connect (a.ts:1:1)" }

  const warning = format(JSON.stringify({ level: "warn", msg: "trying again", err }))
  const error = format(JSON.stringify({ level: "error", msg: "request failed", err }))

  assert.match(warning, /trying again {2}connection lost$/)
  assert.match(error, /request failed {2}connection lost\n {8}at connect \(a\.ts:1:1\)$/)
})

test("what a graph prints is shown as it is, with its run, and a traceback as one entry", () => {
  const printed = format(JSON.stringify({ msg: "hello", run_id: "r1", thread_id: "t1" }))
  const traceback = format(JSON.stringify({ level: "error", msg: "Traceback:\n  File a\nKeyError: 'b'", run_id: "r1" }))

  assert.equal(printed, "hello  run_id=r1")
  assert.match(traceback, /error {2}Traceback: {2}run_id=r1\n {6}File a\n {4}KeyError: 'b'$/)
})

test("other text is returned unchanged", () => {
  for (const text of ["plain words", "{ not: json", '{"a":1}', ""]) assert.equal(format(text), text)
})

test("lines are complete, however their bytes arrive", () => {
  const lines: string[] = []
  const reader = lineReader((line) => lines.push(line))

  for (const chunk of ["one\ntw", "o\n", "\nthr", "ee"]) reader.push(chunk)
  reader.end()

  assert.deepEqual(lines, ["one", "two", "", "three"])
})
