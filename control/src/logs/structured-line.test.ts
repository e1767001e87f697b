import assert from "node:assert/strict"
import { test } from "node:test"
import { cleanLines } from "@superstep/toolkit/text/clean-lines"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { parseLine } from "./structured-line.js"

test("a stack trace is one entry of several lines, each cleaned, and secrets in it are hidden (G2)", () => {
  const stack = "Error: no\u001b[31m key\u0000\n    at node (graph.ts:3)"
  const ours = parseLine(JSON.stringify({ level: "error", msg: "run failed", err: { message: "no key", stack } }))
  const field = parseLine(JSON.stringify({ level: "error", msg: "run failed", attempt: 1, stack }))
  const printed = parseLine(JSON.stringify({ msg: "Traceback (most recent call last):\n  File x\nKeyError: 'a'" }))

  assert.deepEqual(ours, { message: `run failed {"err":{"message":"no key"}}\n${stack}`, level: "ERROR" })
  assert.equal(field.message, `run failed {"attempt":1}\n${stack}`)
  assert.equal(printed.level, "ERROR")
  assert.deepEqual(cleanLines([stack, "after", "a\nb secret-word\n"], hideSecrets(["secret-word"])), [
    "Error: no key\n    at node (graph.ts:3)",
    "after",
    "a\nb [secret]",
  ])
})

test("what a graph prints is its text, with the run beside it", () => {
  const runId = "0197a1b2-0000-7000-8000-000000000001"
  const printed = { msg: "ERROR: no", run_id: runId, thread_id: "0197a1b2-0000-7000-8000-000000000002" }

  assert.deepEqual(parseLine(JSON.stringify(printed)), {
    message: "ERROR: no",
    level: "ERROR",
    runId,
    threadId: printed.thread_id,
  })
  assert.match(
    parseLine(JSON.stringify({ ...printed, attempt: 1 })).message,
    /^ERROR: no \{"thread_id":.*"attempt":1\}$/,
  )
})

test("a line of a logger is parsed, any other is stored unchanged", () => {
  const runId = "0197a1b2-0000-7000-8000-000000000001"
  const at = new Date("2026-01-02T03:04:05Z")

  assert.deepEqual(
    parseLine(
      `{"level":"warn","time":"2026-01-02T03:04:05.000Z","process":"server","run_id":"${runId}","n":1,"msg":"slow"}`,
    ),
    { message: 'slow {"n":1}', level: "WARNING", at, runId, isPlatform: true },
  )
  assert.deepEqual(parseLine(`{"level":50,"time":${at.getTime()},"msg":"pino","run_id":"r"}`), {
    message: 'pino {"run_id":"r"}',
    level: "ERROR",
    at,
  })
  assert.deepEqual(parseLine('{"severity":"CRITICAL","timestamp":1767323045,"event":"structlog"}'), {
    message: "structlog",
    level: "CRITICAL",
    at,
  })
  for (const line of ["plain", '{"a":1}', "{broken", "", '{"msg":1}', "null", "errors are fine"]) {
    assert.deepEqual(parseLine(line), { message: line })
  }
  for (const line of [
    "ERROR: x",
    "[error] x",
    "2026-01-02 03:04:05,678 ERROR x",
    "TypeError: x",
    "Traceback (most recent call last):",
  ]) {
    assert.equal(parseLine(line).level, "ERROR", line)
  }
  assert.equal(parseLine('{"msg":"x","time":"+275760-09-13T00:00:00.000Z","level":{},"run_id":[1]}').at, undefined)
})
