import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { addRun, attemptOf, waitForEnd } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { freshHttp, type TestHttp } from "../testing/test-http.js"
import { copyCheckpoints } from "./copy-queries.js"

/** @param caller  the identity of the caller, as the access rules of a project tell it */
async function execute(
  { server }: TestHttp,
  on: string,
  body: object,
  result: object,
  caller?: string,
): Promise<string> {
  const { runId } = await addRun(server, { on, input: undefined, ...body })
  const scripted = await attemptOf(server, runId)
  if (caller !== undefined) {
    const known = JSON.stringify({ langgraph_auth_user_id: caller })
    await server.db.run(sql`update runs set caller = ${known} where run_id = ${runId}`)
  }
  const ended = waitForEnd(server, runId)
  scripted.done(result)
  await ended
  return runId
}

const asking = (questions: object) => ({
  values: "{}",
  next: ["ask"],
  status: "interrupted",
  interrupts: JSON.stringify(questions),
})
const done = { values: "{}", next: [], status: "success", interrupts: "{}" }

const answersOf = async (http: TestHttp, threadId: string) =>
  (await http.send("GET", `/threads/${threadId}/answers?limit=5`)).json as Record<string, unknown>[]

test("answers stay with what was asked, also after their runs were deleted", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http.server)
  const [first, second] = [{ t1: [{ id: "q", value: "who?" }] }, { t1: [{ id: "q", value: "sure?" }] }]

  await execute(http, threadId, { input: {} }, asking(first))
  const one = await execute(http, threadId, { command: { resume: "Ada" } }, asking(second))
  const two = await execute(http, threadId, { command: { resume: { q: false } } }, done, "ada")
  await execute(http, threadId, { input: { resume: "no command" } }, done)
  await http.db.run(sql`delete from runs where thread_id = ${threadId}`)

  const answers = await answersOf(http, threadId)
  const rest = answers.map(({ answered_at, ...others }) => others)
  assert.deepEqual(rest, [
    { run_id: two, interrupts: second, resume: { q: false }, user_id: "ada", person: null, status: "success" },
    { run_id: one, interrupts: first, resume: "Ada", user_id: null, person: null, status: "interrupted" },
  ])
  assert.ok(answers.every(({ answered_at }) => !Number.isNaN(Date.parse(String(answered_at)))))
})

test("an answer by the id of another question is not the answer to the open one", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http.server)
  const [open, former] = ["a".repeat(32), "b".repeat(32)]
  const question = asking({ t1: [{ id: open, value: "sure?" }] })
  await execute(http, threadId, { input: {} }, question)

  await execute(http, threadId, { command: { resume: { [former]: "late" } } }, question)
  const runId = await execute(http, threadId, { command: { resume: { [open]: "yes", [former]: "late" } } }, done)

  assert.deepEqual(fieldsOf(await answersOf(http, threadId), "run_id"), [runId])
})

test("a question with characters that Postgres rejects is answered by its id, and from its checkpoint", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http.server)
  const id = "a".repeat(32)
  const questions = { "t\u0000": [{ id, value: "zero \u0000, half \ud800?" }] }
  await execute(http, threadId, { input: {} }, asking(questions))
  const checkpointId = "1f000000-0000-6000-8000-000000000000"
  await http.db.run(sql`insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    values (${threadId}, '', ${checkpointId}, '{}', '{}')`)
  const answer = { command: { resume: { [id]: "\u0000" } } }

  await execute(http, threadId, { ...answer, checkpoint_id: checkpointId }, asking(questions))
  const runId = await execute(http, threadId, answer, done)

  const answers = await answersOf(http, threadId)
  assert.deepEqual(
    answers.map((answer) => [answer.run_id, answer.interrupts, answer.resume]),
    [[runId, questions, { [id]: "\ufffd" }]],
  )
})

test("a copy of a thread has its answers; a run and a thread take theirs with them when they are deleted", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http.server)
  await execute(http, threadId, { input: {} }, asking({ t1: [{ id: "q", value: "who?" }] }))
  const runId = await execute(http, threadId, { command: { resume: null } }, done)

  const { json } = await http.send("POST", `/threads/${threadId}/copy`)
  const copy = (json as { thread_id: string }).thread_id
  assert.deepEqual(await answersOf(http, copy), await answersOf(http, threadId))
  await http.send("DELETE", `/threads/${threadId}/runs/${runId}`)
  assert.deepEqual(await answersOf(http, threadId), [])
  assert.deepEqual(fieldsOf(await answersOf(http, copy), "resume"), [null])
  await http.send("DELETE", `/threads/${threadId}`)

  assert.equal((await http.send("GET", `/threads/${threadId}/answers`)).status, 404)
  assert.deepEqual(await http.db.rows(sql`select thread_id from thread_answers`), [{ thread_id: copy }])
})

test("a copy has no answer that its state has not seen", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http.server)
  await execute(http, threadId, { input: {} }, asking({ t1: [{ id: "q", value: "who?" }] }))
  await execute(http, threadId, { command: { resume: "Ada" } }, asking({ t2: [{ id: "q", value: "sure?" }] }))
  const copy = randomUUID()

  const complete = await copyCheckpoints(http.db, threadId, copy)
  await execute(http, threadId, { command: { resume: "yes" } }, done)
  await http.db.transaction(async (tx) => complete?.(tx, "{}"))

  const resumes = async (id: string) => fieldsOf(await answersOf(http, id), "resume")
  assert.deepEqual([await resumes(copy), await resumes(threadId)], [["Ada"], ["yes", "Ada"]])
})

test("a page of answers ends after a megabyte, and says where the next one begins", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http.server)
  const long = "x".repeat(700_000)
  await execute(http, threadId, { input: {} }, asking({ t0: [{ id: "q", value: "first?" }] }))
  for (const n of [1, 2, 3])
    await execute(http, threadId, { command: { resume: `${n} ${long}` } }, asking({ t: [{ id: "q", value: "more?" }] }))
  const page = async (offset: number) => {
    const reply = await http.send("GET", `/threads/${threadId}/answers?limit=5&offset=${offset}`)
    const answers = reply.json as { resume: string }[]
    return [answers.map(({ resume }) => resume[0]), reply.headers.get("x-pagination-next")]
  }

  assert.deepEqual(await page(0), [["3", "2"], "2"])
  assert.deepEqual(await page(2), [["1"], null])
  assert.deepEqual(await page(3), [[], null])
})
