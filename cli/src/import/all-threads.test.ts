import assert from "node:assert/strict"
import { test } from "node:test"
import type { AgentApi } from "./agent-api.js"
import { threadIds } from "./all-threads.js"

test("threads that change or are deleted while they are read hide no other thread", async () => {
  const names = Array.from({ length: 250 }, (_, n) => `thread-${String(n).padStart(3, "0")}`)
  let byChange = [...names]
  let pages = 0
  // A server on which something happens after the first page: a thread of it is deleted, another one changes.
  const send = async (_: string, __: string, body: { limit: number; offset: number; sort_by: string }) => {
    const sorted = body.sort_by === "updated_at" ? byChange : byChange.toSorted()
    const page = sorted.slice(body.offset, body.offset + body.limit)
    const [deleted, changed = ""] = byChange
    if (pages++ === 0) byChange = [...byChange.filter((id) => id !== deleted && id !== changed), changed]
    return page.map((thread_id) => ({ thread_id }))
  }

  const found: string[] = []
  for await (const id of threadIds({ url: "", send, sendOnce: send } as unknown as AgentApi)) found.push(id)

  assert.deepEqual(found.toSorted(), names)
  assert.equal(new Set(found).size, found.length)
  // The order of changes, apart from what moved.
  assert.deepEqual(found.slice(0, 100), names.slice(0, 100))
})
