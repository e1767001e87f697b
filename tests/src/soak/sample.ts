/** What a server holds when nobody asks anything of it: memory, files, connections, processes, rows. */
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import type { AgentServerProcess } from "../testing/agent-servers.js"
import { connectionsTo, descendants, openFiles, residentBytes } from "../testing/process-memory.js"
import { type Heap, readHeap } from "./inspector.js"

export interface Sample extends Heap {
  readonly residentBytes: number
  /** Open files that are neither connections to the database nor those of clients. */
  readonly files: number
  readonly databaseConnections: number
  readonly processes: number
  /** By process: a worker that was killed has a successor with another one. */
  readonly workers: ReadonlyMap<number, { readonly heapBytes: number; readonly residentBytes: number }>
}

/** Waits until a server has nothing to do, then looks. */
export async function takeSample(server: AgentServerProcess, db: Database): Promise<Sample> {
  const isIdle = async () => {
    const { running_runs, open_streams } = await server.status()
    return running_runs === 0 && open_streams === 0 && (await unfinishedRuns(db)) === 0
  }
  await until(isIdle, { what: "the server is idle", timeoutMs: 60_000 })
  const workers = await workerHeaps(server)
  const heap = await readHeap(server.log())
  // What ended a moment ago may still be closing its files.
  return until(() => look(server, db, heap, workers), { what: "no statement is under way" })
}

async function look(
  server: AgentServerProcess,
  db: Database,
  heap: Heap,
  workers: Sample["workers"],
): Promise<Sample | undefined> {
  const connections = await databaseConnections(db)
  if (connections.some(({ state }) => state !== "idle")) return undefined
  const files = openFiles(server.pid)
  const clients = connectionsTo(server.pid, Number(new URL(server.url).port))
  return {
    ...heap,
    residentBytes: residentBytes(server.pid),
    files: files.length - connections.length - clients,
    databaseConnections: connections.length,
    processes: descendants(server.pid).length,
    workers,
  }
}

/** Of a server that is soaked. */
export const workersOfAServer = 2
/** Few enough that `workerHeaps` alone needs all workers: a server starts a worker only when its load requires it. */
export const runsOfAWorker = 4

/** Asks again until every worker has answered, also one that is being replaced or that no load has started yet. */
async function workerHeaps(server: AgentServerProcess): Promise<Sample["workers"]> {
  const found = new Map<number, { heapBytes: number; residentBytes: number }>()
  const ask = async () => {
    const answer = await server.client.runs.wait(null, "memory", { input: {} })
    const { pid, heapBytes } = answer as unknown as { pid: number; heapBytes: number }
    found.set(pid, { heapBytes, residentBytes: residentBytes(pid) })
  }
  const haveAll = async () => {
    await Promise.all(Array.from({ length: workersOfAServer * runsOfAWorker }, ask))
    const pids = workerPids(server)
    return pids.length === workersOfAServer && pids.every((pid) => found.has(pid))
  }
  await until(haveAll, { what: "every worker told its memory", timeoutMs: 60_000 })
  const alive = workerPids(server)
  return new Map([...found].filter(([pid]) => alive.includes(pid)))
}

// "superstep <project> worker w3", which a worker gives itself when it starts (server/src/workers/process-title.ts).
const processTitleOfWorker = /^superstep .*\bworker\b/

/** Oldest first. */
export const workerPids = (server: AgentServerProcess): number[] =>
  descendants(server.pid)
    .filter(({ command }) => processTitleOfWorker.test(command))
    .map(({ pid }) => pid)

/** What the soaked server calls itself at Postgres, where the test has connections too. */
export const soakedName = "soaked"

const databaseConnections = (db: Database): Promise<{ state: string }[]> =>
  db.rows<{ state: string }>(sql`
    select state from pg_stat_activity
    where datname = current_database() and application_name = ${soakedName}`)

async function count(rows: Promise<{ count: number }[]>): Promise<number> {
  return (await rows)[0]?.count ?? 0
}

const unfinishedRuns = (db: Database): Promise<number> =>
  count(db.rows(sql`select count(*) as count from runs where status in ('pending', 'running')`))

/** Rows that belong to nobody, by table; each must be 0 when all runs are over. Writers of histories keep their items, `numbers`. */
export async function orphans(db: Database): Promise<Record<string, number>> {
  const [row] = await db.rows<Record<string, number>>(sql`
    select
      (select count(*) from threads where is_ephemeral) as "threads of stateless runs",
      (select count(*) from runs where status in ('pending', 'running')) as "unfinished runs",
      (select count(*) from threads where status = 'busy') as "busy threads",
      (select count(*) from checkpoints where thread_id not in (select thread_id::text from threads)) as checkpoints,
      (select count(*) from checkpoint_blobs where thread_id not in (select thread_id::text from threads)) as blobs,
      (select count(*) from checkpoint_writes where thread_id not in (select thread_id::text from threads)) as writes,
      (select count(*) from store where prefix <> 'numbers') as "store items"`)
  return row ?? {}
}

/** How many events of finished runs are still kept. */
export const loggedEvents = (db: Database): Promise<number> =>
  count(db.rows(sql`select count(*) as count from run_events`))
