/** A server that stops, beside another on its database: to a client they are one. What dies is in ../chaos. */
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { agentDatabase, startAgentServer } from "../testing/agent-servers.js"

interface Chunk {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a chunk holds is what each test asserts
  readonly data: any
}

/** A run that goes on until the test opens its gate, however long a server takes to stop. */
function openEnded(everyMs: number) {
  const gate = join(temporaryFolder(), "gate")
  const input = { steps: 0, everyMs, gate }
  const options = { input, streamMode: "custom", config: { recursion_limit: 10_000 } } as const
  return { options, open: () => writeFileSync(gate, "") }
}

const stepsTo = (count: number): number[] => Array.from({ length: count }, (_, step) => step)

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

test("a server that is told to stop hands its runs over, and their clients read on elsewhere", async () => {
  await using db = await agentDatabase()
  await using staying = await startAgentServer({ databaseUri: db.uri })
  // Made on the leaving one, and claimed by it in the same moment.
  const leaving = await startAgentServer({ databaseUri: db.uri, env: { BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "2" } })
  const { options, open } = openEnded(50)
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
  open()
  await Promise.all(conversations.map(({ over }) => over))

  for (const { thread_id, chunks, streamResumable } of conversations) {
    const runId: string = chunks[0]?.data.run_id
    assert.equal(endOf(chunks), undefined, "the run was not over when its server stopped")
    const lastEventId = chunks.at(-1)?.id ?? ""
    const rest = await collect(staying.client.runs.joinStream(thread_id, runId, { lastEventId }))
    assert.equal(endOf(rest), "success")
    assert.deepEqual(await attemptsOf(db, runId), { attempt: 2, losses: 0, status: "success" })
    const made = await logOf(staying.client, thread_id)
    assert.deepEqual(made, stepsTo(made.length))
    if (!streamResumable) continue
    const whole = await collect(staying.client.runs.joinStream(thread_id, runId, { lastEventId: "-1" }))
    assert.deepEqual(idsIn([...chunks, ...rest]), idsIn(whole))
    // What the first attempt began it has ended and saved, so the second says none of it again.
    assert.deepEqual(stepsIn(whole), made)
  }
  const all = await follower
  assert.deepEqual(stepsIn(all), await logOf(staying.client, followed?.thread_id ?? ""))
  assert.equal(endOf(all), "success")
})
