import assert from "node:assert/strict"
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { buildLog, parseBuildLine } from "./build-log.js"

test("a build's output is read unchanged; a truncated line affects only itself and the next one", () => {
  const file = join(temporaryFolder(), "build.log")
  const write = buildLog(file, (text) => text.replace("s3cret", "[secret]"))

  write("installing s3cret")
  appendFileSync(file, '{"at":"2026-')
  write("swallowed")
  write("it failed", "ERROR")
  const lines = readFileSync(file, "utf8").trimEnd().split("\n").map(parseBuildLine)

  assert.deepEqual(
    lines.map(({ level, message }) => [level, message.slice(0, 21)]),
    [
      ["INFO", "installing [secret]"],
      [undefined, '{"at":"2026-{"at":"20'],
      ["ERROR", "it failed"],
    ],
  )
  assert.ok(lines[0]?.at instanceof Date)
})

test("a line that only looks like one of a build is stored as it is", () => {
  const at = "2026-01-02T03:04:05.000Z"

  for (const line of [
    "null",
    "[1]",
    '{"at":"x","level":"INFO","message":"m"}',
    `{"at":"${at}","level":"constructor","message":"m"}`,
    `{"at":"${at}","level":"INFO","message":1}`,
  ]) {
    assert.deepEqual(parseBuildLine(line), { message: line })
  }
})
