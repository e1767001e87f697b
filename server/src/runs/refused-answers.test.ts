import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { createRun } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { freshServer, type TestServer } from "../testing/test-server.js"
import { waitForEnd } from "./operations.js"
import { newRun } from "./schema.js"

async function execute(server: TestServer, threadId: string, body: object, result: object) {
  const run = await createRun(server, { threadId, body: newRun.parse({ assistant_id: "agent", ...body }) })
  const scripted = await until(() => server.workers.running.get(run.run_id), { what: "the run starts" })
  const ended = waitForEnd(server, run.run_id)
  scripted.done(result)
  await ended
  const thread = await server.db.row<{ status: string; interrupts: string }>(
    sql`select status, interrupts from threads where thread_id = ${threadId}`,
  )
  return {
    status: thread?.status,
    interrupts: JSON.parse(thread?.interrupts ?? ""),
    config: JSON.parse(scripted.order.config),
  }
}

test("a run that fails with open interrupts leaves its thread interrupted with these interrupts", async () => {
  await using server = await freshServer()
  const threadId = await newThread(server)
  const questions = { task: [{ id: "q1", value: "sure?" }] }
  const open = { values: "{}", next: ["ask"], interrupts: JSON.stringify(questions) }
  const failure = { status: "error", error: { error: "UnknownInterruptError", message: "no such question" } }
  const answer = { command: { resume: "yes" } }

  const asked = await execute(server, threadId, {}, { ...open, status: "interrupted" })
  const refused = await execute(server, threadId, { ...answer, strict_resume: true }, { ...open, ...failure })
  const unknown = await execute(server, threadId, answer, { ...failure, values: undefined, interrupts: "{}" })
  const failed = await execute(server, threadId, answer, { ...failure, values: "{}", interrupts: "{}" })

  const strictness = (one: typeof asked) => one.config.configurable.__pregel_strict_resume
  assert.deepEqual([asked, refused, unknown].map(strictness), [undefined, true, undefined])
  assert.deepEqual([refused.status, refused.interrupts], ["interrupted", questions])
  // The worker could not load the state, so the open interrupts stay open.
  assert.deepEqual([unknown.status, unknown.interrupts], ["error", questions])
  assert.deepEqual([failed.status, failed.interrupts], ["error", {}])
})

const nullTask = "00000000-0000-0000-0000-000000000000"

for (const [writes, saved] of [
  [[[nullTask, "__resume__"]], undefined],
  [[["other-task", "result"]], undefined],
  // An answer by id of LangGraph.js.
  [[["0123abcd", "__resume__"]], undefined],
  [[[nullTask, "out"]], "writes"],
  // A task keeps its first answer when it gets the next one.
  [[["a-task", "result"]], "answer"],
  [
    [
      [nullTask, "out"],
      ["a-task", "result"],
    ],
    "answer",
  ],
] as const)
  test(`the next attempt is told what is saved of the command: ${writes}`, async () => {
    await using server = await freshServer()
    const threadId = await newThread(server)
    const body = newRun.parse({ assistant_id: "agent", command: { resume: "yes" } })
    const run = await createRun(server, { threadId, body })
    const running = () => server.workers.running.get(run.run_id)
    const first = await until(running, { what: "the run starts" })
    const add = (taskId: string, channel: string, idx: number, runId: string | null) =>
      server.db.run(sql`insert into checkpoint_writes
          (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, blob, run_id)
        values (${threadId}, 'sub:t', 'a', ${taskId}, ${idx}, ${channel}, '', ${runId})`)
    await add("a-task", "__resume__", -4, null)
    for (const [taskId, channel] of writes) await add(taskId, channel, 0, run.run_id)

    first.die()
    const second = await until(() => running()?.order.attempt === 2 && running(), { what: "the next attempt" })

    assert.deepEqual([first.order.commandSaved, second.order.commandSaved], [undefined, saved])
    second.done({})
  })
