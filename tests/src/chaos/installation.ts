/** What is put to the test: a Postgres of its own and several agent servers on one database, all real processes. */

import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { createLog } from "@superstep/toolkit/log/log"
import { type PostgresProxy, postgresProxy } from "@superstep/toolkit/testing/postgres-proxy"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { KillablePostgres } from "superstep/prove/killable-postgres"
import { KillableServer } from "superstep/prove/killable-server"
import { addStandby, type Standby } from "./standby.js"

const project = fileURLToPath(new URL("../../chaos/langgraph.json", import.meta.url))

/** Most connections of a server, the listening one not counted. */
export const poolSize = 8

const silent = createLog({ process: "chaos", level: "silent" })

/** Tells the test's own connections from the servers'. */
export const testApplication = "superstep chaos"

function named(uri: string): string {
  const url = new URL(uri)
  url.searchParams.set("application_name", testApplication)
  return url.href
}

export interface Installation extends AsyncDisposable {
  readonly folder: string
  /** Where nodes tell that they execute, one line of JSON each. */
  readonly effectsFile: string
  readonly servers: readonly KillableServer[]
  /** The test's own connections, for looking and for holding locks. They are lost with Postgres, and come back. */
  readonly db: Database
  readonly postgres: PostgresInstance
  /** The servers' way to Postgres, where the test asked for one that it can cut; its own connections have another. */
  readonly network: PostgresProxy | undefined
  /** The database at its own address. */
  readonly databaseUri: string
  /** Another server, which is not among `servers` and is not started yet. @param uri  its way to the database */
  addServer(name: string, uri: string): Promise<KillableServer>
  /** Starts what does not run and waits until all servers answer. */
  untilWhole(): Promise<void>
}

export interface PostgresInstance {
  /** Ends the postmaster and all its sessions without a word. */
  kill(): Promise<void>
  /** Starts it again on what is on the disk. */
  start(): Promise<void>
  /** Nothing that is written from now on reaches the standby. */
  fallBehind(): void
  /** Ends the primary without a word; the standby is promoted and takes its address. */
  failOver(): Promise<void>
}

export interface InstallationOptions {
  readonly servers?: number
  readonly isCuttable?: boolean
  /** Where the cluster is created; default below the installation's folder. */
  readonly postgresFolder?: string
  /** Whether Postgres has an asynchronous standby. */
  readonly hasStandby?: boolean
  /** How far the clock of the first server's workers is ahead of the others'. */
  readonly clockAheadMs?: number
  /** Settings of all servers, by variable. */
  readonly env?: Readonly<Record<string, string>>
  /** The main file of a server's program; servers, and the lives of each, are counted from 0. Default this clone's. */
  readonly mainOf?: (server: number, life: number) => string
  /** Done with the database once its tables are there. */
  readonly prepare?: (db: Database) => Promise<void>
}

export async function startInstallation({
  servers: count = 2,
  isCuttable = false,
  hasStandby = false,
  postgresFolder,
  clockAheadMs = 0,
  env,
  mainOf,
  prepare,
}: InstallationOptions = {}): Promise<Installation> {
  const folder = temporaryFolder()
  const effectsFile = join(folder, "effects.jsonl")
  const clusterFolder = await preparedCluster(postgresFolder ?? join(folder, "postgres"))
  const postgres = new KillablePostgres(clusterFolder)
  let standby: Standby | undefined
  const { superuserUri } = await postgres.start()
  const databaseUri = await createDatabase({ adminUri: superuserUri, name: "chaos" })
  const network = isCuttable || hasStandby ? await postgresProxy(databaseUri) : undefined
  // The test's own way also leads to the standby once that is promoted.
  const ownWay = hasStandby ? await postgresProxy(databaseUri) : undefined
  const db = openDatabase({ uri: named(ownWay?.uri ?? databaseUri), log: silent })
  mkdirSync(join(folder, "tmp"))
  const envOf = (server: number): Record<string, string> => ({
    PATH: process.env.PATH ?? "",
    TMPDIR: join(folder, "tmp"),
    SUPERSTEP_CONFIG: project,
    DATABASE_URI: network?.uri ?? databaseUri,
    // For graphs that import `clock.mjs`.
    SUPERSTEP_AGENT_ENV: JSON.stringify({
      CHAOS_EFFECTS: effectsFile,
      CHAOS_CLOCK_AHEAD_MS: String(server === 0 ? clockAheadMs : 0),
    }),
    LANGGRAPH_POSTGRES_POOL_MAX_SIZE: String(poolSize),
    // Some promises are kept silently (marks.ts).
    LOG_LEVEL: "debug",
    ...env,
  })
  const names = Array.from({ length: count }, (_, n) => `server-${n + 1}`)
  const createServer = (name: string, server: number, uri?: string) =>
    KillableServer.create({
      name,
      folder,
      env: { ...envOf(server), ...(uri !== undefined && { DATABASE_URI: uri }) },
      ...(mainOf && { mainOf: (life: number) => mainOf(server, life) }),
    })
  const servers = await Promise.all(names.map((name, server) => createServer(name, server)))

  const untilWhole = async () => {
    await postgres.start()
    for (const server of servers) server.start()
    await Promise.all(servers.map((server) => server.untilReady()))
  }
  const needStandby = (): Standby => {
    if (!standby) throw new Error("this installation has no standby")
    return standby
  }
  const failOver = async () => {
    const next = needStandby()
    next.fallBehind()
    await postgres.kill()
    const running = await next.promote()
    postgres.replace(running)
    for (const way of [network, ownWay]) way?.redirect(running.uri("chaos"))
  }
  const stop = async () => {
    await Promise.all(servers.map((server) => server.kill()))
    await network?.[Symbol.asyncDispose]()
    await db.close()
    await ownWay?.[Symbol.asyncDispose]()
    await postgres.stop()
    await standby?.[Symbol.asyncDispose]()
  }
  try {
    await untilWhole()
    await prepare?.(db)
    if (hasStandby)
      standby = await addStandby({ folder: clusterFolder, postgres: await postgres.start() }, join(folder, "standby"))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    folder,
    effectsFile,
    servers,
    db,
    postgres: {
      kill: () => postgres.kill(),
      start: async () => void (await postgres.start()),
      fallBehind: () => needStandby().fallBehind(),
      failOver,
    },
    network,
    databaseUri,
    addServer: (name, uri) => createServer(name, count, uri),
    untilWhole,
    [Symbol.asyncDispose]: stop,
  }
}
