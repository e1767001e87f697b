import assert from "node:assert/strict"
import { test } from "node:test"
import { QueryClient } from "@tanstack/react-query"
import type { Agent } from "../agent/use-agent.js"
import { readInterrupted } from "./read-interrupted.js"
import { leaveList } from "./use-approvals.js"
import { waitingOf } from "./waiting.js"

test("a question is found behind many older threads that stopped at a breakpoint", async () => {
  const stopped = Array.from({ length: 400 }, (_, n) => ({ thread_id: `t${n}`, interrupts: {} }))
  const asking = { thread_id: "asking", interrupts: { task: [{ id: "i1", value: "Refund?" }] } }
  const search = async ({ limit, offset }: { limit: number; offset: number }) =>
    [...stopped, asking].slice(offset, offset + limit)
  const agent = { client: { threads: { search } } } as unknown as Agent

  const threads = await readInterrupted(agent, new AbortController().signal)

  assert.deepEqual(
    waitingOf(threads).map(({ threadId }) => threadId),
    ["asking"],
  )
})

test("a reading that began before an answer does not bring its question back", async () => {
  const queries = new QueryClient()
  const [queryKey, asking] = [["approvals", "agent"], [{ thread_id: "t" }]]
  queries.setQueryData(queryKey, asking)
  let release = () => {}
  const queryFn = () => new Promise<object>((resolve) => (release = () => resolve(asking)))
  const reading = queries.fetchQuery({ queryKey, queryFn })

  await leaveList(queries, "agent", [{ threadId: "t", runId: "r", error: undefined }])
  release()
  await reading

  assert.deepEqual(queries.getQueryData(queryKey), [])
})
