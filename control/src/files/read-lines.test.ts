import assert from "node:assert/strict"
import { appendFileSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { maxRawBytes } from "../logs/log-line.js"
import { forgetFile } from "./growing-file.js"
import { readLines } from "./read-lines.js"

const newFile = (text = "") => {
  const path = join(temporaryFolder(), "out.log")
  writeFileSync(path, text)
  return path
}

/** Reads as often as there is something, each time from where the last one ended. */
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

test("a line that is still being written is left for later", async () => {
  const path = newFile("one\ntw")

  const first = await readLines(path, 0)
  appendFileSync(path, "o\n\nthree\n")
  const second = await readLines(path, first.next)

  assert.deepEqual(first, { lines: ["one"], next: 4, hasMore: true })
  assert.deepEqual(second, { lines: ["two", "", "three"], next: 15, hasMore: false })
})

test("of an enormous line the beginning is read once, and its rest is passed over, also after a restart", async () => {
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

test("characters are whole wherever a reading ends, and bytes that are no UTF-8 do no harm", async () => {
  const line = `${"äöü😀".repeat(50)}\n`
  const path = newFile(line.repeat(5000))
  appendFileSync(path, Buffer.from([0xff, 0xfe, 0x61, 0x00, 0x0a]))

  const { lines } = await readAll(path)

  assert.equal(lines.length, 5001)
  assert.ok(lines.slice(0, -1).every((text) => `${text}\n` === line))
  assert.equal(lines.at(-1), "\ufffd\ufffda\u0000")
})

test("a file that was begun anew is read from its start, and one that has more is not forgotten", async () => {
  const path = newFile("one\ntwo\n")

  assert.equal(forgetFile(path, 4), false)
  assert.equal(forgetFile(path, 8), true)
  appendFileSync(path, "new\n")

  assert.deepEqual((await readLines(path, 8)).lines, ["new"])
  assert.deepEqual(await readLines(join(path, "..", "none"), 5), { lines: [], next: 0, hasMore: false })
})

test("of a file that somebody made enormous without writing, the end is read, and a line tells of the rest", async () => {
  const path = newFile("one\n")
  const size = 2 ** 43
  truncateSync(path, size)
  appendFileSync(path, "\ntwo\n")

  const { lines, next } = await readAll(path)

  const [told = "", ...after] = lines
  assert.match(told, /^\[879\d+ bytes of output were left out/)
  assert.deepEqual(after, ["two"])
  assert.equal(next, size + 5)
})
