import assert from "node:assert/strict"
import { existsSync, mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unreadOutput } from "./unread-output.js"

async function* bytes(content: string) {
  yield Buffer.from(content)
}
function kept() {
  const folder = temporaryFolder()
  return { folder: join(folder, "unread"), unread: unreadOutput(() => folder) }
}
const placeAt = (lifeId: string, read = "") => JSON.stringify({ lifeId, read })

/** Reads a whole file at once. */
const reading = (from: string, presentLifeId?: string, mayGrow = false) => ({
  from,
  presentLifeId,
  mayGrow,
  read: async (log: AsyncIterable<Buffer>, { lifeId }: { lifeId: string }) => {
    const content = await text(log)
    return from === placeAt(lifeId, content)
      ? { lines: [], next: from }
      : { lines: [content], next: placeAt(lifeId, content) }
  },
})

test("kept output is read in the order of lives, and deleted when it is stored", async () => {
  const { folder, unread } = kept()
  await unread.keep("u", "2_b", bytes("two"))
  await unread.keep("u", "1_c", bytes("one"))
  await unread.keep("u", "3_a", bytes("three"))

  const first = await unread.read("u", reading("", "3_a"))
  const second = await unread.read("u", reading(first?.next ?? "", "3_a"))
  const third = await unread.read("u", reading(second?.next ?? "", "3_a"))

  assert.deepEqual([first?.lines, second?.lines, third], [["one"], ["two"], undefined])
  const left = ["1_c", "2_b", "3_a"].map((lifeId) => existsSync(join(folder, lifeId)))
  assert.deepEqual(left, [false, false, true])
})

test("what a control plane has kept before another one stored lines of a later life is not stored again", async () => {
  const { folder, unread } = kept()
  await unread.keep("u", "1_a", bytes("one"))

  assert.equal(await unread.read("u", reading(placeAt("2_b"))), undefined)
  assert.equal(existsSync(join(folder, "1_a")), false)
})

test("what is still being kept is not read yet", async () => {
  const { unread } = kept()
  await unread.keep("u", "1_a", bytes("on"))

  const found = await unread.read("u", reading("", undefined, true))

  assert.deepEqual(found, { lines: [], next: "" })
})

test("what cannot be read is not deleted, and the reader is told", async () => {
  const { folder, unread } = kept()
  const unreadable = join(folder, "1_a")
  mkdirSync(unreadable, { recursive: true })

  await assert.rejects(unread.read("u", reading("")), { code: "EISDIR" })

  assert.ok(existsSync(unreadable))
})

test("a file that another reader deletes between the listing and the reading is passed over", async () => {
  const { folder, unread } = kept()
  await unread.keep("u", "2_b", bytes("two"))
  // It is listed, and opening it fails as for a file that was deleted.
  symlinkSync(join(folder, "..", "deleted"), join(folder, "1_a"))

  const found = await unread.read("u", reading(""))

  assert.deepEqual(found?.lines, ["two"])
})
