/** A complete agent server with graphs that harm their process: which runs are lost, which continue, and what is logged. */
import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { startAgentServer } from "../agent-server.js"
import { readConfig } from "../config.js"
import { migrations, parseEvents } from "../testing/test-server.js"

const configPath = fileURLToPath(new URL("../../../tests/graphs/deadly.json", import.meta.url))

interface Running extends AsyncDisposable {
  /** A file that does not exist; the graph `waits` ends when `open` has created it. */
  readonly file: string
  open(): Promise<void>
  post(path: string, body: object): Promise<Response>
  /** Starts a run on a new thread. */
  start(graphId: string): Promise<string>
  runOf(runId: string): Promise<Row | undefined>
  /** How the workers that executed a run ended, according to the log. */
  deathsOf(runId: string): string[]
}

interface Row {
  readonly status: string
  readonly attempt: number
  readonly losses: number
  readonly message: string | null
}

/** Starts a server with one worker, so that all runs share it at first. */
async function startServer(db: Database, settings: Record<string, string> = {}): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), "superstep-isolation-"))
  const file = join(folder, "open")
  const env = {
    SUPERSTEP_CONFIG: configPath,
    DATABASE_URI: db.uri,
    SUPERSTEP_LISTEN: "127.0.0.1:0",
    SUPERSTEP_WORKERS: "1",
    BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0",
    ...settings,
  }
  const lost: { run_id: string; detail: string }[] = []
  const write = (line: string) => {
    if (line.includes("a run was lost")) lost.push(JSON.parse(line))
  }
  const log = createLog({ process: "test", level: "warn" }, { write })
  const server = await startAgentServer({ config: readConfig(env), version: "0", log, env: process.env })
  const post: Running["post"] = (path, body) =>
    fetch(`http://127.0.0.1:${server.listening.port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    })
  return {
    file,
    open: () => writeFile(file, ""),
    post,
    start: async (graphId) => {
      const { thread_id } = (await (await post("/threads", {})).json()) as { thread_id: string }
      const body = { assistant_id: graphId, input: { n: 0, file }, durability: "sync" }
      const run = await post(`/threads/${thread_id}/runs`, body)
      return ((await run.json()) as { run_id: string }).run_id
    },
    runOf: (runId) =>
      db.row<Row>(
        sql`select status, attempt, losses, error ->> 'message' as message from runs where run_id = ${runId}`,
      ),
    deathsOf: (runId) => lost.filter((one) => one.run_id === runId).map(({ detail }) => detail),
    [Symbol.asyncDispose]: async () => {
      await server.stop()
      await rm(folder, { recursive: true })
    },
  }
}

const ended = (server: Running, runId: string) =>
  until(
    async () => {
      const run = await server.runOf(runId)
      return run && !["pending", "running"].includes(run.status) && run
    },
    { what: `run ${runId} to end`, timeoutMs: 120_000 },
  )

const checkpointed = (db: Database, runId: string) =>
  until(
    () => db.row(sql`select from checkpoints where metadata ->> 'run_id' = ${runId} and metadata ->> 'step' = '1'`),
    {
      what: `the first step of run ${runId}`,
      timeoutMs: 60_000,
    },
  )

test("R9: a graph that always ends its process uses up only its own attempts", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startServer(db)
  const neighbour = await server.start("waits")
  await checkpointed(db, neighbour)

  const killer = await server.start("exits")
  const { status, attempt, message } = await ended(server, killer)

  assert.deepEqual([status, attempt], ["error", 4])
  assert.match(message ?? "", /died 3 times with nothing else in it, last with exit code 13/)
  assert.equal((await server.runOf(neighbour))?.status, "running")
  const other = await server.start("waits")
  await checkpointed(db, other)
  await server.open()
  for (const [runId, attempts] of [
    [neighbour, 2],
    [other, 1],
  ] as const) {
    const run = await ended(server, runId)
    assert.deepEqual([run.status, run.attempt, run.losses], ["success", attempts, 0])
  }
  const counted = sql`select values ->> 'n' as n from threads t where exists
    (select from runs r where r.thread_id = t.thread_id and r.graph_id = 'waits')`
  assert.deepEqual(await db.rows(counted), [{ n: "1" }, { n: "1" }])
})

test("P5, P14: workers with growing memory or an endless loop are detected, reported and replaced", {
  skip: unlessWide("takes 10 s") || (process.platform !== "linux" && "memory is looked at on Linux only"),
}, async () => {
  await using db = await freshDatabase({ migrations })
  const settings = { SUPERSTEP_WORKER_MEMORY_MB: "500", SUPERSTEP_WORKER_STALLED_SECONDS: "1" }
  await using server = await startServer(db, settings)
  const neighbour = await server.start("waits")
  await checkpointed(db, neighbour)

  const [hoards, loops] = [await server.start("hoards"), await server.start("loops")]
  await until(() => server.deathsOf(neighbour).length === 1, {
    what: "the worker of all three runs to die",
    timeoutMs: 60_000,
  })
  await server.open()
  const died = (runId: string, how: RegExp) =>
    until(() => server.deathsOf(runId).some((detail) => how.test(detail)), { what: `${how}`, timeoutMs: 60_000 })
  await died(hoards, /it used [\d,]+ MB of its 500 MB$/)
  await died(loops, /its event loop was held for 1 s$/)

  const { status, losses } = await ended(server, neighbour)
  assert.deepEqual([status, losses], ["success", 0])
  assert.equal((await ended(server, await server.start("waits"))).status, "success")
})

test("R10: a run that exceeds its time limit keeps its saved steps, and its stream ends with timeout", {
  skip: unlessWide("starts a server, and waits for seconds"),
}, async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startServer(db, { BG_JOB_TIMEOUT_SECS: "3" })
  const { thread_id } = (await (await server.post("/threads", {})).json()) as { thread_id: string }
  const body = { assistant_id: "waits", input: { n: 0, file: server.file }, stream_mode: ["updates"] }

  const events = parseEvents(await (await server.post(`/threads/${thread_id}/runs/stream`, body)).text())

  assert.deepEqual(fieldsOf(events, "event"), ["metadata", "updates", "error", "end"])
  const [, , error, end] = events.map(({ data }) => data as Record<string, string>)
  assert.deepEqual([error?.error, end?.status], ["RunTimeout", "timeout"])
  const thread = await db.row(sql`select status, values ->> 'n' as n from threads where thread_id = ${thread_id}`)
  assert.deepEqual(thread, { status: "error", n: "1" })
  const next = { thread_id, ...body, input: null }
  await server.open()
  const resumed = await server.post(`/threads/${thread_id}/runs/wait`, next)
  assert.equal(((await resumed.json()) as { n: number }).n, 1)
})

test("C8: no turn is lost when the clock of a worker is set back", {
  skip: unlessWide("starts a server"),
}, async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startServer(db)
  const { thread_id } = (await (await server.post("/threads", {})).json()) as { thread_id: string }
  const turn = async (clockMs: number, durability: string) => {
    const body = { assistant_id: "clocks", input: { log: [`turn ${clockMs}`], clockMs }, durability }
    return (await (await server.post(`/threads/${thread_id}/runs/wait`, body)).json()) as { log: string[] }
  }

  await turn(3_600_000, "async")
  await turn(0, "sync")
  await turn(-3_600_000, "exit")
  const { log } = await turn(0, "async")

  const turns = [3_600_000, 0, -3_600_000, 0].flatMap((clockMs) => [`turn ${clockMs}`, `clock ${clockMs}`])
  assert.deepEqual(log, turns)
  const history = await server.post(`/threads/${thread_id}/history`, { limit: 100 })
  const states = (await history.json()) as { values: { log?: string[] } }[]
  const lengths = states.map(({ values }) => values.log?.length ?? 0)
  assert.deepEqual(
    lengths,
    lengths.toSorted((a, b) => b - a),
  )
  assert.equal(lengths[0], turns.length)
})
