import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshHttp } from "../testing/test-http.js"

test("the number of waiting runs is limited per thread", async () => {
  await using http = await freshHttp({ maxWaitingRuns: 2 })
  const newThread = async () => ((await http.send("POST", "/threads", {})).json as { thread_id: string }).thread_id
  const [full, other] = [await newThread(), await newThread()]
  const create = (threadId: string, multitask_strategy?: string) =>
    http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", input: {}, multitask_strategy })

  const statuses = []
  for (let n = 0; n < 4; n++) statuses.push(await create(full))
  const ofOther = await create(other)
  const listed = await http.send("GET", `/threads/${full}/runs`)
  const interrupting = await create(full, "interrupt")

  assert.deepEqual(fieldsOf(statuses, "status"), [200, 200, 200, 429])
  assert.equal(statuses[3]?.headers.get("retry-after"), "5")
  assert.match((statuses[3]?.json as { detail: string }).detail, /2 runs wait on this thread/)
  assert.equal((listed.json as unknown[]).length, 3)
  assert.deepEqual([ofOther.status, interrupting.status], [200, 200])
})

test("concurrent requests do not exceed the limit of waiting runs", async () => {
  await using http = await freshHttp({ maxWaitingRuns: 2 })
  const { thread_id: threadId } = (await http.send("POST", "/threads", {})).json as { thread_id: string }
  const create = () => http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", input: {} })

  const replies = await Promise.all(Array.from({ length: 12 }, create))

  const created = replies.filter(({ status }) => status === 200)
  assert.equal(created.length, 3)
  assert.ok(replies.every(({ status }) => status === 200 || status === 429))
})
