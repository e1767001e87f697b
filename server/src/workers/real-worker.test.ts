/** The real worker, real graphs and a real database together. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { commandLine } from "@superstep/toolkit/exec/process-identity"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { checkpointCalls } from "../checkpoints/calls.js"
import { findCheckpoints } from "../checkpoints/queries.js"
import { journalOfAnyClaim } from "../checkpoints/testing/journal-of-any-claim.js"
import { readProject, toWorkerProject } from "../project/langgraph-config.js"
import { storeCalls } from "../store/calls.js"
import { storeOf } from "../store/testing/store-of.js"
import { officialUri, untilOfficialLeft } from "../testing/official-sessions.js"
import type { RunOrder } from "./port.js"
import { endOf, runOrder, seen, startTestPool, type TestPool } from "./testing/test-pool.js"

const migrations = fileURLToPath(new URL("../../src/migrations", import.meta.url))
const log = createLog({ process: "test", level: "silent" })
const configPath = fileURLToPath(new URL("../../../tests/graphs/langgraph.json", import.meta.url))

/** @param graphId  the graph to load; loading one takes a tenth of the time of loading all */
async function startRealPool(db: Database, graphId: string, started: { pid: number }[] = []): Promise<TestPool> {
  const { graphs, ...project } = toWorkerProject(await readProject(configPath, {}))
  const write = (line: string) => {
    if (line.includes("worker started")) started.push(JSON.parse(line))
  }
  return startTestPool({
    name: "shop",
    log: createLog({ process: "test", level: "debug" }, { write }),
    project: { ...project, graphs: { [graphId]: graphs[graphId] ?? "" } },
    main: fileURLToPath(import.meta.resolve("@superstep/worker-js/main")),
    handlers: { ...checkpointCalls({ db, journal: journalOfAnyClaim({ db, log }) }), ...storeCalls(storeOf(db)) },
  })
}

/** An order for a claimed run, like one from the queue. */
async function claimedRun(db: Database, graphId: string, input: unknown, over: Partial<RunOrder> = {}) {
  // There is no executor here that ends the run after its writes: with `sync` all are committed when it is done.
  const run = { graphId, input: input === undefined ? "" : JSON.stringify(input), durability: "sync" } as const
  const order = runOrder([], { ...run, ...over })
  const { runId, claimId, threadId } = order
  const config = JSON.stringify({ configurable: { thread_id: threadId, run_id: runId, ...configurable(over.config) } })
  await db.run(sql`insert into threads (thread_id) values (${threadId}) on conflict do nothing`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, claim_id)
    values (${runId}, ${threadId}, ${randomUUID()}, ${graphId}, 'running', '{}', '{}', 'enqueue', ${claimId})`)
  return { ...order, config }
}

const configurable = (config: string | undefined) => (config === undefined ? {} : JSON.parse(config))

const finish = (db: Database, { runId }: RunOrder) =>
  db.run(sql`update runs set status = 'success', claim_id = null where run_id = ${runId}`)

async function resultOf(told: Parameters<typeof endOf>[0]) {
  const end = await endOf(told)
  assert.ok(end && "done" in end, `the run was lost: ${JSON.stringify(end)}`)
  return end.done
}

async function stateOf(testing: TestPool, graphId: string, threadId: string) {
  const fields = { graph_id: graphId, thread_id: threadId, checkpoint_ns: "", subgraphs: false }
  const { payload } = await testing.pool.call("graph.state", fields, { config: "{}" })
  return JSON.parse(String(payload[0]))
}

test("a conversation continues in another worker, and the official saver reads it", async () => {
  await using db = await freshDatabase({ migrations })
  const say = (content: string) => ({ messages: [{ role: "user", content }] })
  const first = await claimedRun(db, "chat", say("hello"))
  {
    await using testing = await startRealPool(db, "chat")
    assert.deepEqual(testing.report.failed, [])
    assert.equal((await resultOf(testing.run([], first))).status, "success")
  }
  await finish(db, first)
  await using testing = await startRealPool(db, "chat")
  const second = await claimedRun(db, "chat", say("again"), { threadId: first.threadId, hasCheckpoint: true })

  const result = await resultOf(testing.run([], second))

  const contents = (messages: { content: string }[]) => messages.map(({ content }) => content)
  assert.deepEqual(contents(JSON.parse(result.values ?? "{}").messages), ["hello", "Hi!", "again", "Hi!"])
  const state = await stateOf(testing, "chat", first.threadId)
  assert.deepEqual(contents(state.values.messages), ["hello", "Hi!", "again", "Hi!"])
  const official = PostgresSaver.fromConnString(officialUri(db))
  const tuple = await official.getTuple({ configurable: { thread_id: first.threadId } })
  await official.end()
  await untilOfficialLeft(db)
  const messages = tuple?.checkpoint.channel_values.messages as { content: string }[]
  assert.deepEqual(contents(messages), ["hello", "Hi!", "again", "Hi!"])
  const runIds = (await findCheckpoints(db, { threadId: first.threadId })).map(
    ({ metadata }) => JSON.parse(metadata).run_id,
  )
  assert.deepEqual(new Set(runIds), new Set([first.runId, second.runId]))
})

test("an interrupted run is answered in another worker", async () => {
  await using db = await freshDatabase({ migrations })
  const first = await claimedRun(db, "hitl", { x: 1 })
  {
    await using testing = await startRealPool(db, "hitl")
    const result = await resultOf(testing.run([], first))
    assert.deepEqual([result.status, result.next], ["interrupted", ["ask"]])
  }
  await finish(db, first)
  await using testing = await startRealPool(db, "hitl")
  const answer = { threadId: first.threadId, hasCheckpoint: true, command: JSON.stringify({ resume: "yes" }) }

  const result = await resultOf(testing.run([], await claimedRun(db, "hitl", undefined, answer)))

  assert.equal(result.status, "success")
  assert.deepEqual(JSON.parse(result.values ?? ""), { x: 4, y: "yes" })
})

test("a run whose worker was killed continues from its last checkpoint", async () => {
  await using db = await freshDatabase({ migrations })
  const started: { pid: number }[] = []
  await using testing = await startRealPool(db, "slow", started)
  const first = await claimedRun(db, "slow", { n: 0 }, { durability: "sync", streamModes: ["custom"] })
  const lost = testing.run([], first)
  await until(() => lost.events.length >= 3, { what: "two ticks are saved" })
  const pid = Number(started[0]?.pid)
  assert.match((await commandLine(pid)) ?? "", /^superstep shop worker 1\.1\.1\b/)
  process.kill(pid, "SIGKILL")
  assert.deepEqual(await endOf(lost), { lost: "worker_died", detail: "signal SIGKILL" })
  const claimId = randomUUID()
  await db.run(sql`update runs set claim_id = ${claimId} where run_id = ${first.runId}`)
  await until(() => testing.pool.freeSlots() > 0, { what: "the worker is back" })

  const again = testing.run([], { ...first, claimId, attempt: 2, hasCheckpoint: true })

  assert.deepEqual(JSON.parse((await resultOf(again)).values ?? ""), { n: 5 })
  const ticks = again.events.filter(({ event }) => event === "custom").map(({ data }) => data)
  assert.deepEqual(ticks, [{ tick: 2 }, { tick: 3 }, { tick: 4 }])
})

test("a run whose claim was taken writes nothing more and counts as lost", async () => {
  await using db = await freshDatabase({ migrations })
  await using testing = await startRealPool(db, "slow")
  const order = await claimedRun(db, "slow", { n: 0 }, { durability: "sync", streamModes: ["custom"] })
  const run = testing.run([], order)
  await seen(run, "custom")
  await db.run(sql`update runs set claim_id = ${randomUUID()} where run_id = ${order.runId}`)
  const before = (await findCheckpoints(db, { threadId: order.threadId })).length

  const end = await endOf(run)

  assert.ok(end && "lost" in end && end.lost === "claim_lost")
  assert.equal((await findCheckpoints(db, { threadId: order.threadId })).length, before)
})
