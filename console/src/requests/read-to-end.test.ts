import assert from "node:assert/strict"
import { test } from "node:test"
import { readToEnd } from "./read-to-end.js"

const idOf = (item: string) => item

test("a list is read to its end, also when the last page is full", async () => {
  for (const size of [0, 1, 2, 3, 4, 5]) {
    const all = ["a", "b", "c", "d", "e"].slice(0, size)
    const offsets: number[] = []

    const items = await readToEnd({
      pageSize: 2,
      idOf,
      read: async (offset) => {
        offsets.push(offset)
        return all.slice(offset, offset + 2)
      },
    })

    assert.deepEqual(items, all)
    assert.deepEqual(offsets, [0, 2, 4].slice(0, Math.floor(size / 2) + 1))
  }
})

test("an item that moves to a later page meanwhile is there once", async () => {
  const pages = [["a", "b"], ["b"]]

  const items = await readToEnd({ pageSize: 2, idOf, read: async (offset) => pages[offset / 2] ?? [] })

  assert.deepEqual(items, ["a", "b"])
})

test("only so many pages are read as are asked for", async () => {
  const read = async (offset: number) => ["a", "b", "c", "d", "e"].slice(offset, offset + 2)

  assert.deepEqual(await readToEnd({ pageSize: 2, idOf, read, mostPages: 2 }), ["a", "b", "c", "d"])
})
