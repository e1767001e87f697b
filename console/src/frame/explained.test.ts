import assert from "node:assert/strict"
import { test } from "node:test"
import { entryAddress, explainedOf } from "./explained.js"

const platform = { home: "platform", base: new URL("http://127.0.0.1:8900/") } as const
const agent = { home: "agent", base: new URL("http://127.0.0.1:2024/studio/") } as const
const busy = { code: "thread_busy", docUrl: "docs/errors.md#thread_busy" }

test("a code leads to its entry in the documentation of the same platform", () => {
  assert.equal(entryAddress(busy, platform), "http://127.0.0.1:8900/docs/errors#thread_busy")
  const published = { ...busy, docUrl: "https://docs.example/errors#thread_busy" }
  assert.equal(entryAddress(published, platform), "http://127.0.0.1:8900/docs/errors#thread_busy")
})

test("one agent alone has no documentation but the published one", () => {
  assert.equal(entryAddress(busy, agent), undefined)
  assert.equal(
    entryAddress({ ...busy, docUrl: "https://docs.example/errors#a" }, agent),
    "https://docs.example/errors#a",
  )
})

test("an address that an agent invents leads nowhere else", () => {
  const hostile = { code: "x", docUrl: "javascript:alert(1)#//evil.example" }

  assert.equal(entryAddress(hostile, platform), undefined)
  assert.equal(entryAddress(hostile, agent), undefined)
  assert.equal(entryAddress(busy, undefined), undefined)
})

test("an error without an address has no entry", () => {
  assert.deepEqual(explainedOf("thread_busy", busy.docUrl), busy)
  assert.equal(explainedOf("TypeError", undefined), undefined)
})
