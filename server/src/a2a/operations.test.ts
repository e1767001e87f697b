import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import type { AssistantRow } from "../assistants/assistant.js"
import { insertSystemAssistants } from "../assistants/queries.js"
import { anyone } from "../auth/caller.js"
import { AfterStatement } from "../testing/after-statement.js"
import { addRun } from "../testing/as-anyone.js"
import { callerWith } from "../testing/callers.js"
import { freshServer, serverDatabase, startTestServer } from "../testing/test-server.js"
import { type A2aParts, cancelTask, listTasks, requireTask } from "./operations.js"
import { taskKey } from "./queries.js"
import { answerCall, streamCall } from "./rpc.js"
import { codes } from "./wire.js"

test("a task whose question is answered while it is read is not reported as canceled", async () => {
  await using server = await freshServer({ slots: 0 })
  const [threadId, taskId, assistantId] = [randomUUID(), randomUUID(), randomUUID()]
  const addRun = (runId: string, status: string, metadata: object) =>
    server.db.run(sql`
      insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
      values (${runId}, ${threadId}, ${assistantId}, 'agent', ${status}, ${JSON.stringify(metadata)}, '{}', 'enqueue')`)
  await server.db.run(sql`insert into threads (thread_id, status) values (${threadId}, 'interrupted')`)
  await addRun(taskId, "interrupted", {})
  // The access rule is asked while the task is being read.
  const caller = callerWith(undefined, async (value) => {
    await server.db.run(sql`update threads set status = 'busy' where thread_id = ${threadId}`)
    await addRun(randomUUID(), "pending", { [taskKey]: taskId })
    return value
  })
  const assistant = { assistant_id: assistantId } as AssistantRow

  const task = await requireTask(server as unknown as A2aParts, { caller, assistant, headers: new Headers() }, taskId)

  assert.equal(task.state, "submitted")
})

test("a task that is cancelled while it waits behind an open question is canceled, and the asking task keeps its question, also beside a delayed run", async () => {
  await using server = await freshServer({ slots: 0 })
  const [threadId, asking, waiting, assistantId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const interrupts = JSON.stringify({ task: [{ id: "a", value: "Which one?" }] })
  await server.db.run(sql`
    insert into threads (thread_id, status, interrupts) values (${threadId}, 'interrupted', ${interrupts})`)
  for (const [runId, attempt, reason, second] of [
    [asking, 1, null, 1],
    [waiting, 0, "cancelled", 2],
  ] as const)
    await server.db.run(sql`
      insert into runs (run_id, thread_id, assistant_id, graph_id, status, attempt, cancel_reason, created_at, metadata, kwargs, multitask_strategy)
      values (${runId}, ${threadId}, ${assistantId}, 'agent', 'interrupted', ${attempt}, ${reason},
        now() + make_interval(secs => ${second}), '{}', '{}', 'enqueue')`)
  const request = { caller: anyone, assistant: { assistant_id: assistantId } as AssistantRow, headers: new Headers() }

  const states = () =>
    Promise.all(
      [asking, waiting].map(async (id) => (await requireTask(server as unknown as A2aParts, request, id)).state),
    )
  const before = await states()
  await addRun(server, { on: threadId, after_seconds: 3600 })

  assert.deepEqual([...before, ...(await states())], ["input-required", "canceled", "input-required", "canceled"])
})

test("a task that is deleted while tasks are listed is left out of the list; one that is deleted while it is cancelled is not found", async () => {
  await using server = await freshServer({ slots: 0 })
  const [threadId, kept, listed, cancelled, assistantId] = Array.from({ length: 5 }, () => randomUUID())
  await server.db.run(sql`insert into threads (thread_id, status) values (${threadId}, 'busy')`)
  for (const runId of [kept, listed, cancelled])
    await server.db.run(sql`
      insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
      values (${runId}, ${threadId}, ${assistantId}, 'agent', 'pending', '{}', '{}', 'enqueue')`)
  const between = new AfterStatement()
  const parts = { ...server, db: between.database(server.db) } as unknown as A2aParts
  const request = { caller: anyone, assistant: { assistant_id: assistantId } as AssistantRow, headers: new Headers() }
  const deleting = (runId: string | undefined) => () => server.db.run(sql`delete from runs where run_id = ${runId}`)
  const list = async () =>
    (await listTasks(parts, request, { contextId: `${threadId}`, limit: 10, offset: 0 })).tasks.map(({ id }) => id)

  between.after(/select run_id from runs/, deleting(listed))
  const tasks = await list()
  between.after(/from runs first join/, deleting(cancelled))
  const cancelling = cancelTask(parts, request, `${cancelled}`, new AbortController().signal)
  await assert.rejects(cancelling, { rpcCode: codes.taskNotFound })
  between.after(/select run_id from runs/, () => server.db.run(sql`delete from threads`))
  await assert.rejects(list(), { rpcCode: codes.invalidParams })

  assert.deepEqual(tasks.toSorted(), [kept, cancelled].toSorted())
})

test("a client that left while its task was started waits for nothing, and the task goes on", {
  timeout: 60_000,
}, async () => {
  await using db = await serverDatabase()
  await insertSystemAssistants(db, ["agent"], {})
  await using server = await startTestServer(db)
  const assistant = await db.row<AssistantRow>(sql`select * from assistants`)
  assert.ok(assistant)
  const asking = { caller: anyone, assistant, headers: new Headers() }
  const message = { role: "user", messageId: "m", parts: [{ kind: "text", text: "hi" }] }
  const call = { params: { message }, url: "", signal: AbortSignal.abort() }
  const parts = { ...server, sources: { schemasOf: async () => ({}) } } as unknown as A2aParts
  server.workers.answer = async () => ({ fields: {}, payload: [Buffer.from("{}")] })

  await answerCall(parts, asking, { ...call, method: "message/send" })
  await streamCall(parts, asking, { ...call, method: "message/stream" })

  assert.equal(server.streams.runs.size, 0)
  await until(() => server.workers.started.length === 2, { what: "both tasks execute" })
})
