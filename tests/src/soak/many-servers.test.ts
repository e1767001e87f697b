/** Several servers on one database: to a client they are one, also while one of them stops. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { startAgentServer } from "../testing/agent-servers.js"

interface Chunk {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a chunk holds is what each test asserts
  readonly data: any
}

const input = { steps: 60, everyMs: 50 }
const config = { recursion_limit: 500 }
const options = { input, streamMode: "custom", config } as const
const allSteps = Array.from({ length: input.steps }, (_, step) => step)

async function collect(stream: AsyncIterable<unknown>, into: Chunk[] = []): Promise<Chunk[]> {
  for await (const chunk of stream) into.push(chunk as Chunk)
  return into
}

const stepsIn = (chunks: readonly Chunk[]): number[] =>
  chunks.filter(({ event }) => event === "custom").map(({ data }) => data.step)
const idsIn = (chunks: readonly Chunk[]): number[] => chunks.map(({ id }) => Number(id))
const endOf = (chunks: readonly Chunk[]): string | undefined => chunks.find(({ event }) => event === "end")?.data.status

async function logOf(client: Client, threadId: string): Promise<number[]> {
  return (await client.threads.getState<{ log: number[] }>(threadId)).values.log
}

const attemptsOf = (db: Database, runId: string) =>
  db.row<{ attempt: number; losses: number; status: string }>(
    sql`select attempt, losses, status from runs where run_id = ${runId}`,
  )

test("any of three servers serves everything", async (t) => {
  await using db = await freshDatabase()
  await using first = await startAgentServer({ databaseUri: db.uri })
  await using second = await startAgentServer({ databaseUri: db.uri })
  await using third = await startAgentServer({ databaseUri: db.uri })
  const clients = [first, second, third].map(({ client }) => client)

  await t.test("joins, waits and resumable reads of a run, wherever it executes", async () => {
    const { thread_id } = await first.client.threads.create()

    const run = await first.client.runs.create(thread_id, "steps", { ...options, streamResumable: true })
    const joins = clients.map((client) => client.runs.join(thread_id, run.run_id))
    const live = clients.map((client) => collect(client.runs.joinStream(thread_id, run.run_id)))
    const whole = clients.map((client) => collect(client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" })))
    // It waits for the first one, whichever server that executes.
    const next = second.client.runs.wait(thread_id, "steps", { input: { steps: 1, everyMs: 0 }, config })
    const results = await Promise.all(joins)
    const ends = await Promise.all(live)
    const reads = await Promise.all(whole)
    await next
    const again = await collect(third.client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" }))

    for (const values of results) assert.deepEqual((values as unknown as { log: number[] }).log, allSteps)
    for (const chunks of ends) assert.equal(endOf(chunks), "success")
    for (const chunks of [...reads, again]) {
      assert.deepEqual(stepsIn(chunks), allSteps)
      assert.deepEqual(idsIn(chunks), idsIn(again))
    }
    for (const client of clients) assert.deepEqual(await logOf(client, thread_id), [...allSteps, input.steps])
  })

  for (const action of ["interrupt", "rollback"] as const) {
    await t.test(`a cancel (${action}), of which the client of a third one hears`, async () => {
      const { thread_id } = await first.client.threads.create()
      const long = { ...options, input: { steps: 400, everyMs: 50 } }
      const run = await first.client.runs.create(thread_id, "steps", long)
      const seen: Chunk[] = []
      const heard = collect(third.client.runs.joinStream(thread_id, run.run_id), seen)
      await until(() => seen.length > 2, { what: "a client of the third server hears of the run" })

      await second.client.runs.cancel(thread_id, run.run_id, true, action)

      assert.equal(endOf(await heard), action === "rollback" ? "rollback" : "interrupted")
      const found = await attemptsOf(db, run.run_id)
      assert.deepEqual(found, action === "rollback" ? undefined : { attempt: 1, losses: 0, status: "interrupted" })
      assert.equal((await first.client.threads.get(thread_id)).status, "idle")
    })
  }
})

test("a run that is handed over has ended its super-step, and none of its nodes executes twice", async () => {
  await using db = await freshDatabase()
  const leaving = await startAgentServer({ databaseUri: db.uri, env: { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "2" } })
  const { thread_id } = await leaving.client.threads.create()
  // A step is always under way when the grace time is over, and ends within as long again.
  const slow = { input: { steps: 4, everyMs: 1900 }, streamMode: "custom", streamResumable: true } as const
  const chunks: Chunk[] = []
  const heard = collect(leaving.client.runs.stream(thread_id, "steps", slow), chunks).catch(() => chunks)
  await until(() => stepsIn(chunks).length > 0, { what: "the first step has begun" })

  leaving.terminate()
  assert.equal(await leaving.exited, 0)
  const before = [...(await heard)]
  const runId: string = before[0]?.data.run_id
  const handedOver = await attemptsOf(db, runId)
  await using staying = await startAgentServer({ databaseUri: db.uri })
  const rest = await collect(staying.client.runs.joinStream(thread_id, runId, { lastEventId: before.at(-1)?.id ?? "" }))

  assert.deepEqual(handedOver, { attempt: 1, losses: 0, status: "pending" })
  assert.equal(endOf(rest), "success")
  // Each step says its number when it begins.
  assert.deepEqual(stepsIn([...before, ...rest]), [0, 1, 2, 3])
  const ended = await attemptsOf(db, runId)
  const story = `${JSON.stringify(ended)}: ${staying.log()}`
  assert.deepEqual(ended, { attempt: 2, losses: 0, status: "success" }, story)
  assert.deepEqual(await logOf(staying.client, thread_id), [0, 1, 2, 3])
})

test("a server that is told to stop hands its runs over, and their clients read on elsewhere", async () => {
  await using db = await freshDatabase()
  await using staying = await startAgentServer({ databaseUri: db.uri })
  // Made on the leaving one, and claimed by it in the same moment.
  const leaving = await startAgentServer({ databaseUri: db.uri, env: { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "1" } })
  const threads = await Promise.all([1, 2, 3, 4].map(() => leaving.client.threads.create()))
  const conversations = threads.map(({ thread_id }, index) => {
    const streamResumable = index < 3
    const chunks: Chunk[] = []
    const stream = leaving.client.runs.stream(thread_id, "steps", { ...options, streamResumable })
    // The SDK comes back to the address that it knows, where nobody answers any more: here that is an error.
    const over = collect(stream, chunks).catch(() => chunks)
    return { thread_id, streamResumable, chunks, over }
  })
  const haveBegun = () => conversations.every(({ chunks }) => stepsIn(chunks).length > 4)
  await until(haveBegun, { what: "every stream has begun" })
  // Somebody followed one of them from the other server all the time.
  const [followed] = conversations
  const followedRun: string = followed?.chunks[0]?.data.run_id
  const follower = collect(
    staying.client.runs.joinStream(followed?.thread_id, followedRun, { lastEventId: "-1", streamMode: "custom" }),
  )

  leaving.terminate()
  assert.equal(await leaving.exited, 0)
  await Promise.all(conversations.map(({ over }) => over))

  for (const { thread_id, chunks, streamResumable } of conversations) {
    const runId: string = chunks[0]?.data.run_id
    assert.equal(endOf(chunks), undefined, "the run was not over when its server stopped")
    const lastEventId = chunks.at(-1)?.id ?? ""
    const rest = await collect(staying.client.runs.joinStream(thread_id, runId, { lastEventId }))
    assert.equal(endOf(rest), "success")
    assert.deepEqual(await attemptsOf(db, runId), { attempt: 2, losses: 0, status: "success" })
    assert.deepEqual(await logOf(staying.client, thread_id), allSteps)
    if (!streamResumable) continue
    const whole = await collect(staying.client.runs.joinStream(thread_id, runId, { lastEventId: "-1" }))
    assert.deepEqual(idsIn([...chunks, ...rest]), idsIn(whole))
    // What the first attempt began it has ended and saved, so the second says none of it again.
    assert.deepEqual(stepsIn(whole), allSteps)
  }
  const all = await follower
  assert.deepEqual([...new Set(stepsIn(all))], allSteps)
  assert.equal(endOf(all), "success")
})
