import assert from "node:assert/strict"
import { test } from "node:test"
import { statusMessage } from "./status-message.js"

const shown = (lines: readonly string[]) =>
  statusMessage("graph_load_failed", "it does not load", lines)
    .split("\n")
    .slice(1)
    .map((line) => line.slice(2))

test("a source excerpt is shown with the line that its mark points to, and durations are left out", () => {
  const excerpt = ["src/a.ts:1:28", "  1 | const x = process.env.KEY!", "    |           ^", "  2 | b", "  3 | c"]

  assert.deepEqual(shown(["install: done", ...excerpt, "verify took 3205 ms"]), excerpt)
  assert.deepEqual(shown([...excerpt, "  4 | d", "  5 | e", "verify took 3205 ms"]), [...excerpt, "  4 | d", "  5 | e"])
})

test("marks are shown with the line that they point to, as esbuild, Python and TypeScript print them", () => {
  const esbuild = ["ERROR: Unexpected end", "  src/a.ts:3:4:", "    3 │ const", "      ╵     ^"]
  const python = ["  x = = 1", "      ^", "SyntaxError: invalid syntax"]
  const typescript = ["2 const x: number = y", "                    ~"]

  assert.deepEqual(shown(["install: done", ...esbuild, "1", "2", "3", "4"]).slice(0, 3), esbuild.slice(1))
  assert.deepEqual(shown(["Traceback", ...python, "1", "2", "3"]).slice(0, 2), python.slice(0, 2))
  assert.deepEqual(shown(["src/a.ts", ...typescript, "1", "2", "3", "4"]).slice(0, 2), typescript)
})

test("a line of code stays above its mark, also where the message quotes it", () => {
  const quoted = statusMessage("graph_load_failed", "invalid syntax: }", ["}", "^", "invalid syntax"])

  assert.deepEqual(quoted.split("\n").slice(1), ["  }", "  ^"])
})

test("of other logs the last five lines are shown, without those that the message has, which is not cut, since secrets are removed from it first", () => {
  assert.deepEqual(shown(["1", "2", "3", "4", "5", "6", ""]), ["2", "3", "4", "5", "6"])
  assert.deepEqual(shown(["before", "it does not load"]), ["before"])

  assert.ok(statusMessage("graph_load_failed", "x".repeat(20_000), []).startsWith("x".repeat(20_000)))
})
