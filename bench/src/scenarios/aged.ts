/** The cost of a large database: the queue's statements and users' requests, on a young and on a very full database. */
import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import { claimRuns } from "@superstep/server/runs/claims"
import { beginRun } from "@superstep/server/runs/queries"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { migrate } from "@superstep/toolkit/db/migrate"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { v7 as uuidv7 } from "uuid"
import { BenchFailed, callJson, type Target, timeCall } from "../http-client.js"
import type { Options } from "../options.js"
import { Cleanup } from "../processes.js"
import { median } from "../statistics.js"
import { launchOn, startDatabases } from "../systems/server.js"
import { startServer } from "../systems/system.js"
import { type Age, age, checkpointedEvery, oldThreadId, someOwner } from "./aged-database.js"
import { check, createThread, type Metric, type Sample, type Scenario, userSays } from "./scenario.js"

const figures = [
  "create",
  "claim",
  "finish",
  "run",
  "thread search",
  "of an owner",
  "runs of a thread",
  "state",
  "history",
]

export const agedScenarios = ({ isQuick, history }: Options): Scenario[] => {
  const count = isQuick ? 20_000 : history
  const metrics = figures.flatMap((name): Metric[] => [
    { key: `${name}, young`, label: `${name}, young`, unit: "ms", better: "low" },
    { key: name, label: `${name}, aged`, unit: "ms", better: "low" },
    { key: `ratio ${name}`, label: `ratio: ${name}`, unit: "", better: "low" },
  ])
  return [
    {
      name: `a database of ${count.toLocaleString("en")} ended runs`,
      metrics,
      systems: ["server"],
      warmUps: 0,
      requests: 1,
      maxRounds: 1,
      run: (_, cleanup) => compare(cleanup, { runs: count, threads: count / 10 }, isQuick ? 20 : 200),
    },
  ]
}

const log = createLog({ process: "bench", level: "warn" })
const migrations = fileURLToPath(new URL("../src/migrations", import.meta.resolve("@superstep/server/main")))

interface Subject {
  readonly db: Database
  readonly uri: string
  readonly size: Age
  /** The samples, by figure. */
  readonly taken: Record<string, number[]>
}

/** The size of a small installation after a few days. */
const youngSize: Age = { runs: 2_000, threads: 200 }

/**
 * Compares a young and an aged database on one Postgres that no other scenario uses. Each figure is measured on both in turns, so
 * that other load of the machine affects both.
 */
async function compare(cleanup: Cleanup, agedSize: Age, times: number): Promise<Sample> {
  const folder = temporaryFolder()
  const postgres = await startDatabases(folder, cleanup)
  let started = 0
  const serve = async (uri: string, own: Cleanup) =>
    (await startServer(launchOn(folder, { number: ++started, databaseUri: uri }), own)).target
  const prepare = async (name: string, size: Age): Promise<Subject> => {
    const uri = await createDatabase({ adminUri: postgres.superuserUri, name })
    await migrate({ uri, folder: migrations, log })
    const db = openDatabase({ uri, log })
    cleanup.add(() => db.close())
    await using own = new Cleanup()
    cleanup.add(() => own[Symbol.asyncDispose]())
    await age(db, size, await conversation(await serve(uri, own)))
    return { db, uri, size, taken: Object.fromEntries(figures.map((figure) => [figure, []])) }
  }
  const subjects = [await prepare("young", youngSize), await prepare("aged", agedSize)]
  for (let time = 0; time < warmUps + times; time++) for (const subject of subjects) await timeStatements(subject)
  const served: Served[] = []
  for (const subject of subjects) served.push({ subject, target: await serve(subject.uri, cleanup) })
  for (let time = 0; time < warmUps + times; time++) for (const each of served) await timeRequests(each)
  return Object.fromEntries(figures.flatMap((name) => sampleOf(name, subjects)))
}

// Postgres chooses the plan of a prepared statement after five executions, and workers need about as many runs to warm up.
const warmUps = 10

function sampleOf(name: string, subjects: readonly Subject[]): [string, number][] {
  const medians = subjects.map(({ taken }) => median(taken[name]?.slice(warmUps) ?? []))
  const [young = Number.NaN, aged = Number.NaN] = medians
  return [
    [`${name}, young`, young],
    [name, aged],
    [`ratio ${name}`, aged / young],
  ]
}

/** A random old thread. @param every  only every n-th thread is eligible */
async function someThread({ db, size }: Subject, every = 1): Promise<string> {
  const id = oldThreadId(Math.floor((Math.random() * size.threads) / every) * every)
  const row = await db.row<{ thread_id: string }>(sql`select thread_id from threads where thread_id = ${id}`)
  if (!row) throw new BenchFailed("the thread does not exist")
  return row.thread_id
}

const claimer = { serverId: randomUUID(), revisionId: null, leaseMs: 60_000 }

/** Executes one run by the queue's statements, while the server is idle. */
async function timeStatements(subject: Subject): Promise<void> {
  const { db, taken } = subject
  const threadId = await someThread(subject)
  const known = await db.row<Known>(sql`
    select metadata::text as metadata, config::text as config from threads where thread_id = ${threadId}`)
  const run = newRun(threadId, known)
  let outcome: string | undefined
  const create = async () => {
    outcome = (await beginRun(db, { ...run, ...claimer })).outcome
  }
  taken.create?.push(await timed(create))
  check(outcome === "created", `the run was not created: ${outcome}`)
  let claimId: string | undefined
  const claim = async () => {
    claimId = (await claimRuns(db, claimer, { limit: 50, runsAlone: false }))[0]?.claimId
  }
  taken.claim?.push(await timed(claim))
  check(claimId !== undefined, "the run was not claimed")
  const finish = sql`select end_run(${run.runId}, ${claimId}, 'success', null, null, '{}', 'idle')`
  taken.finish?.push(await timed(() => db.run(finish)))
}

/** What the server has read of a thread, as JSON texts. */
interface Known {
  readonly metadata: string
  readonly config: string
}

const newRun = (threadId: string, known: Known = { metadata: "{}", config: "{}" }) => ({
  // As the server makes them.
  runId: uuidv7(),
  threadId,
  threadRule: "must_exist" as const,
  threadMetadata: "{}",
  assistantId: randomUUID(),
  graphId: "echo",
  metadata: "{}",
  kwargs: "{}",
  multitaskStrategy: "enqueue" as const,
  isResumable: false,
  deleteThreadOnCompletion: false,
  afterSeconds: 0,
  canExecute: false,
  isStreamed: false,
  caller: null,
  webhook: null,
  known,
  mostWaiting: 0,
})

interface Served {
  readonly subject: Subject
  readonly target: Target
}

/** A run over HTTP, and the requests that a chat client sends for a page. */
async function timeRequests({ subject, target }: Served): Promise<void> {
  const ask = async (name: string, method: string, path: string, body?: unknown) => {
    const { ms, answer } = await timeCall(target, method, path, body)
    subject.taken[name]?.push(ms)
    return JSON.parse(answer) as unknown
  }
  const threadId = await someThread(subject)
  const withState = await someThread(subject, checkpointedEvery)
  const newest = { limit: 10, sort_by: "updated_at", sort_order: "desc" }
  await ask("run", "POST", `/threads/${threadId}/runs/wait`, { assistant_id: "echo", input: userSays("hello") })
  await ask("thread search", "POST", "/threads/search", newest)
  const owned = (await ask("of an owner", "POST", "/threads/search", {
    ...newest,
    metadata: { owner: someOwner(subject.size) },
  })) as unknown[]
  check(owned.length === newest.limit, `the owner has ${owned.length} threads`)
  await ask("runs of a thread", "GET", `/threads/${threadId}/runs?limit=10`)
  await ask("state", "GET", `/threads/${withState}/state`)
  const states = (await ask("history", "POST", `/threads/${withState}/history`, { limit: 10 })) as unknown[]
  check(states.length > 2, `the history has ${states.length} states`)
}

/** A conversation of two turns, whose checkpoints are copied to old threads. */
async function conversation(target: Target): Promise<string> {
  const threadId = await createThread(target)
  for (const content of ["hello", "and again"]) {
    await callJson(target, "POST", `/threads/${threadId}/runs/wait`, { assistant_id: "echo", input: userSays(content) })
  }
  return threadId
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}
