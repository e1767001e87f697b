import assert from "node:assert/strict"
import { appendFileSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fieldsOf } from "../testing/fields-of.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { maxRawBytes } from "../text/clean-lines.js"
import { cutFile } from "./growing-file.js"
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

  assert.deepEqual(fieldsOf(before.lines, "length"), [1, maxRawBytes])
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

test("a truncated file is read from its start, and a missing one is empty", async () => {
  const path = newFile("one\ntwo\n")

  truncateSync(path, 0)
  appendFileSync(path, "new\n")

  assert.deepEqual((await readLines(path, 8)).lines, ["new"])
  assert.deepEqual(await readLines(join(path, "..", "none"), 5), { lines: [], next: 0, hasMore: false })
})

test("a cut file keeps the lines that were not read", async () => {
  const path = newFile("one\ntwo\nthr")

  cutFile(path, 4)
  appendFileSync(path, "ee\n")
  assert.deepEqual((await readAll(path)).lines, ["two", "three"])

  cutFile(path, 6)
  assert.deepEqual((await readAll(path)).lines, [], "a line that was read in part is skipped")
  appendFileSync(path, "four\n")
  cutFile(path, 1000)
  assert.equal(statSync(path).size, 0)
})

test("of a sparse enormous file only the end is kept, and a line reports the rest", async () => {
  const path = newFile("one\n")
  truncateSync(path, 2 ** 43)
  appendFileSync(path, "\ntwo\n")

  cutFile(path, 0)

  const [notice = "", ...after] = (await readAll(path)).lines
  assert.match(notice, /^\[879\d+ bytes of output were left out/)
  assert.deepEqual(after, ["two"])
  assert.ok(statSync(path).size < 1000)
})
