import assert from "node:assert/strict"
import { appendFileSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { maxRawBytes } from "../logs/log-line.js"
import { clearFile } from "./growing-file.js"
import { readLines } from "./read-lines.js"

const newFile = (text = "") => {
  const path = join(temporaryFolder(), "out.log")
  writeFileSync(path, text)
  return path
}

/** Reads until there is nothing new, each time from where the last read ended. */
async function readAll(path: string) {
  const lines: string[] = []
  let from = 0
  for (;;) {
    const read = await readLines(path, from)
    lines.push(...read.lines)
    if (read.next === from) return { lines, next: from }
    from = read.next
  }
}

test("an incomplete line is read later", async () => {
  const path = newFile("one\ntw")

  const first = await readLines(path, 0)
  appendFileSync(path, "o\n\nthree\n")
  const second = await readLines(path, first.next)

  assert.deepEqual(first, { lines: ["one"], next: 4, hasMore: true })
  assert.deepEqual(second, { lines: ["two", "", "three"], next: 15, hasMore: false })
})

test("only the start of an enormous line is read, and its rest is skipped, also after a restart", async () => {
  const path = newFile(`a\n${"x".repeat(5 * maxRawBytes)}`)

  const before = await readAll(path)
  appendFileSync(path, `${"x".repeat(1000)}\nb\n`)
  const after = await readLines(path, before.next)

  assert.deepEqual(
    before.lines.map(({ length }) => length),
    [1, maxRawBytes],
  )
  assert.deepEqual(after.lines, ["b"])
})

test("reads never split characters, and invalid UTF-8 is replaced", async () => {
  const line = `${"äöü😀".repeat(50)}\n`
  const path = newFile(line.repeat(5000))
  appendFileSync(path, Buffer.from([0xff, 0xfe, 0x61, 0x00, 0x0a]))

  const { lines } = await readAll(path)

  assert.equal(lines.length, 5001)
  assert.ok(lines.slice(0, -1).every((text) => `${text}\n` === line))
  assert.equal(lines.at(-1), "\ufffd\ufffda\u0000")
})

test("a truncated file is read from its start, and one with unread content is not emptied", async () => {
  const path = newFile("one\ntwo\n")

  assert.equal(clearFile(path, 4), false)
  // Somebody else has emptied it, and it has grown again.
  assert.equal(clearFile(path, 9), false)
  assert.equal(clearFile(path, 8), true)
  appendFileSync(path, "new\n")

  assert.deepEqual((await readLines(path, 8)).lines, ["new"])
  assert.deepEqual(await readLines(join(path, "..", "none"), 5), { lines: [], next: 0, hasMore: false })
})

test("of a sparse enormous file only the end is read, and a line reports the rest", async () => {
  const path = newFile("one\n")
  const size = 2 ** 43
  truncateSync(path, size)
  appendFileSync(path, "\ntwo\n")

  const { lines, next } = await readAll(path)

  const [notice = "", ...after] = lines
  assert.match(notice, /^\[879\d+ bytes of output were left out/)
  assert.deepEqual(after, ["two"])
  assert.equal(next, size + 5)
})
