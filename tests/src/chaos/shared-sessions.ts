/**
 * A server that starts behind a pooler which shares its sessions among transactions: it must refuse, and say what to do, whatever the pooler and whenever it
 * appears. Without the pooler it starts.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { fakePooler } from "@superstep/toolkit/testing/fake-pooler"
import { postgresProxy } from "@superstep/toolkit/testing/postgres-proxy"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { heldWithin } from "@superstep/toolkit/testing/until"
import type { KillableServer } from "superstep/prove/killable-server"
import type { Installation } from "./installation.js"

const starts = 3
// A server tries for half a minute to reach its database.
const refusalMs = 60_000
const silent = createLog({ process: "pooled", level: "silent" })

/** @returns  what was broken, a sentence each */
export async function startBehindPoolers(
  { databaseUri, addServer }: Pick<Installation, "databaseUri" | "addServer">,
  random: Random,
): Promise<string[]> {
  await using way = await postgresProxy(databaseUri)
  const server = await addServer("pooled", way.uri)
  const startsUsually = async (when: string): Promise<string[]> => {
    server.start()
    const fault = await server.untilReady({ restarts: 0 }).then(
      () => [],
      (error: Error) => [`pooler: a server does not start ${when}: ${error.message}`],
    )
    await server.stop()
    return fault
  }
  const broken: string[] = []
  // The pooler may also appear while a server that has served is down.
  if (random.next() < 0.5) broken.push(...(await startsUsually("at first")))
  for (let start = 0; start < starts; start++) {
    const options = { sessions: random.between(1, 4), assigns: random.pick(["last used", "in turn"] as const) }
    await using pooler = await fakePooler(databaseUri, options)
    await using _others = othersOf(pooler.uri, random.between(0, 3), random)
    way.redirect(pooler.uri)
    const fault = await startAlone(server, async () => {
      way.cut("reset")
      await sleep(random.pick([0, 0, 500, 2000]))
      way.heal()
    })
    if (fault !== undefined) broken.push(`pooler: ${fault} (${options.sessions} sessions, ${options.assigns})`)
  }
  way.redirect(databaseUri)
  return [...broken, ...(await startsUsually("without the pooler"))]
}

/** @returns  what it does in place of refusing */
async function startAlone(server: KillableServer, meanwhile: () => Promise<void>): Promise<string | undefined> {
  server.start()
  await meanwhile()
  const hasAnswered = () => !server.isRunning || server.said("server ready")
  // What it does instead is the finding.
  await heldWithin(hasAnswered, refusalMs)
  const isServing = server.said("server ready")
  const isRefused = !server.isRunning && /pool_mode = session/.test(server.log())
  await server.kill()
  if (isServing) return "a server serves on a database whose sessions are shared"
  return isRefused ? undefined : `a server neither serves nor refuses: ${server.log().slice(-500)}`
}

/** So many other programs that use the pooler. */
function othersOf(uri: string, count: number, random: Random): AsyncDisposable {
  const db = openDatabase({ uri, poolSize: Math.max(count, 1), log: silent })
  const over = new AbortController()
  const use = async () => {
    while (!over.signal.aborted) {
      // The server under test may have broken the session that it gets.
      await db.run(sql`select pg_sleep(${random.next() / 100})`).catch(() => undefined)
      await sleep(random.between(0, 10))
    }
  }
  const using = Promise.all(Array.from({ length: count }, use))
  return {
    [Symbol.asyncDispose]: async () => {
      over.abort()
      await using
      await db.close()
    },
  }
}
