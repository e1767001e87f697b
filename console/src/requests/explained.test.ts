import assert from "node:assert/strict"
import { test } from "node:test"
import { entryAddress, explainedOf } from "./explained.js"

const platform = { home: "platform", base: new URL("http://127.0.0.1:8900/") } as const
const agent = { home: "agent", base: new URL("http://127.0.0.1:2024/studio/") } as const
const entry = "http://127.0.0.1:8900/docs/errors#thread_busy"
const busy = { code: "thread_busy", docUrl: "docs/errors.md#thread_busy" }

const published = { ...busy, docUrl: "https://docs.example/errors#thread_busy" }
const hostile = { code: "x", docUrl: "javascript:alert(1)#//evil.example" }

for (const [what, error, place, address] of [
  ["a code leads to its entry in the documentation of the same platform", busy, platform, entry],
  ["so does a published one", published, platform, entry],
  ["one agent alone has no documentation", busy, agent, undefined],
  ["but the published one", published, agent, published.docUrl],
  ["an address that an agent invents leads nowhere else", hostile, platform, undefined],
  ["nor beside an agent alone", hostile, agent, undefined],
  ["nothing leads anywhere before the page knows its place", busy, undefined, undefined],
] as const)
  test(what, () => assert.equal(entryAddress(error, place), address))

test("an error without an address has no entry", () => {
  assert.deepEqual(explainedOf("thread_busy", busy.docUrl), busy)
  assert.equal(explainedOf("TypeError", undefined), undefined)
})
