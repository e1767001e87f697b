/** Ten servers on one database compared with one: how much they slow each other down. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { callJson, type Target } from "../http-client.js"
import type { Options } from "../options.js"
import { Cleanup } from "../processes.js"
import { percentile } from "../statistics.js"
import { launchOn, startDatabases } from "../systems/server.js"
import { startServer } from "../systems/system.js"
import { checkLast, inParallel, type Metric, type Sample, type Scenario, userSays } from "./scenario.js"

// The load is the same for one server and for ten, and more than one server can handle.
const clients = 32
const warmUps = 60
const pacedMs = 40
// With the listening connection, five connections per server: a hundred servers use 500.
const connections = { LANGGRAPH_POSTGRES_POOL_MAX_SIZE: "4" }

export const manyServerScenarios = ({ isQuick }: Options): Scenario[] => {
  const [servers, requests] = isQuick ? [3, 64] : [10, 2000]
  const compared = ([name, unit, better]: readonly [string, Metric["unit"], Metric["better"]]): Metric[] => [
    { key: `${name} 1`, label: `${name}, 1 server`, unit, better },
    { key: name, label: `${name}, ${servers} servers`, unit, better },
    { key: `ratio ${name}`, label: `ratio: ${name}`, unit: "", better },
  ]
  return [
    {
      name: `${servers} servers on one database`,
      metrics: [
        ...figures.flatMap(compared),
        { key: "connections", label: "connections of a server", unit: "", better: "low" },
      ],
      systems: ["server"],
      warmUps: 0,
      requests: 1,
      maxRounds: 1,
      run: (_, cleanup) => compare(cleanup, servers, requests),
    },
  ]
}

const figures = [
  ["rate", "/s", "high"],
  ["commit p50", "ms", "low"],
  ["commit p99", "ms", "low"],
] as const

const log = createLog({ process: "bench", level: "warn" })

async function compare(cleanup: Cleanup, servers: number, requests: number): Promise<Sample> {
  const folder = temporaryFolder()
  const { superuserUri } = await startDatabases(folder, cleanup)
  const measureWith = async (count: number) => {
    await using own = new Cleanup()
    cleanup.add(() => own[Symbol.asyncDispose]())
    const databaseUri = await createDatabase({ adminUri: superuserUri, name: `servers_${count}` })
    // The database of another deployment, whose commits the servers must not delay.
    const neighbour = openDatabase({
      uri: await createDatabase({ adminUri: superuserUri, name: `beside_${count}` }),
      log,
    })
    own.add(() => neighbour.close())
    const targets: Target[] = []
    for (let number = 1; number <= count; number++) {
      const launch = launchOn(folder, { number: count * 100 + number, databaseUri, workers: 1, env: connections })
      targets.push((await startServer(launch, own)).target)
    }
    return await load({ targets, neighbour, requests, admin: superuserUri, database: `servers_${count}` })
  }
  const [one, many] = [await measureWith(1), await measureWith(servers)]
  const ratios = figures.flatMap(([name]) => [
    [`${name} 1`, one[name]],
    [`ratio ${name}`, (many[name] ?? Number.NaN) / (one[name] ?? Number.NaN)],
  ])
  return { ...many, ...Object.fromEntries(ratios), connections: (many.connections ?? Number.NaN) / servers }
}

interface Load {
  readonly targets: readonly Target[]
  readonly neighbour: Database
  readonly requests: number
  readonly admin: string
  /** The servers' database. */
  readonly database: string
}

async function load({ targets, neighbour, requests, admin, database }: Load): Promise<Record<string, number>> {
  const ask = async (index: number) => {
    const target = targets[index % targets.length]
    if (!target) throw new Error("no server was started")
    const request = { assistant_id: "echo", input: userSays("hello") }
    const values = (await callJson(target, "POST", "/runs/wait", request)) as { messages: unknown[] }
    checkLast(values.messages, "echo: hello")
  }
  // Processes compile frequently executed code. Without a warm-up, ten cold servers would be compared with a warm one.
  await inParallel(clients, warmUps * targets.length, ask)
  const over = new AbortController()
  const open = countUntil({ admin, database }, over.signal)
  const begin = performance.now()
  await inParallel(clients, requests, ask)
  const rate = (requests / (performance.now() - begin)) * 1000
  // Less than one server can handle; otherwise commits would wait for the processor.
  const commits = commitUntil(neighbour, over.signal)
  await Promise.all(Array.from({ length: requests / 8 }, (_, index) => sleep(index * pacedMs).then(() => ask(index))))
  over.abort()
  const taken = await commits
  const [p50, p99] = [percentile(taken, 0.5), percentile(taken, 0.99)]
  return { rate, "commit p50": p50, "commit p99": p99, connections: await open }
}

const pauseMs = 10

/** @returns the duration of each commit in milliseconds */
async function commitUntil(db: Database, signal: AbortSignal): Promise<number[]> {
  await db.run(sql`create table if not exists commits (at timestamptz)`)
  const taken: number[] = []
  while (!signal.aborted) {
    const begin = performance.now()
    // Like the end of a run: the commit includes a notification.
    await db.transaction(async (tx) => {
      await tx.run(sql`insert into commits values (now())`)
      return tx.run(sql`select pg_notify('bench', '')`)
    })
    taken.push(performance.now() - begin)
    await sleep(pauseMs)
  }
  return taken
}

/** @returns the maximum number of the servers' connections */
async function countUntil({ admin, database }: Pick<Load, "admin" | "database">, signal: AbortSignal): Promise<number> {
  await using db = openDatabase({ uri: admin, log })
  let most = 0
  while (!signal.aborted) {
    const row = await db.row<{ n: number }>(sql`select count(*) as n from pg_stat_activity where datname = ${database}`)
    most = Math.max(most, row?.n ?? 0)
    await sleep(pauseMs * 10)
  }
  return most
}
