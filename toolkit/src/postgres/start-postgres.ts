/**
 * The embedded Postgres: one cluster for each folder, which listens only on a Unix socket.
 * P1 it survives its parent, even `kill -9`; P2 a start on a folder whose Postgres runs adopts that one; P3 two concurrent
 * starts result in one Postgres; P4 connections require a password, and a role may connect only to its own database.
 * It is stopped by `stop`, or with its parent if it was started with `stopWithParent`.
 */
import { open, readFile, realpath, stat } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { databaseUri } from "../db/database-uri.js"
import { KnownError } from "../errors/errors.js"
import { ifCode, missing } from "../errors/if-code.js"
import { endWithParent } from "../exec/end-with-parent.js"
import { isAlive, type ProcessIdentity } from "../exec/process-identity.js"
import { type OsUser, spawnDetached } from "../exec/spawn-detached.js"
import { untilGone } from "../exec/stop-process.js"
import type { Log } from "../log/log.js"
import { rotateLog } from "../log/rotate-log.js"
import { postgresBinaries, removeFormerBinaries } from "./binaries.js"
import { makeClusterFolder, makeSocketFolder } from "./folders.js"
import { ensureCluster } from "./initialize.js"
import { postgresUser } from "./postgres-user.js"
import { findPostmaster, type Postmaster, untilReady } from "./postmaster.js"

export interface PostgresOptions {
  /** Contains the whole cluster. Created if it is missing; as root it may become a link to a folder that Postgres can enter. */
  readonly folder: string
  readonly log: Log
  /** Stop when the parent dies. Works on Linux with util-linux; elsewhere the next start adopts the running Postgres. */
  readonly stopWithParent?: boolean
  /** Its data need not survive a power failure, so it never waits for the disk; it still survives `kill -9`. For tests. */
  readonly isDisposable?: boolean
}

export interface RunningPostgres {
  readonly pid: number
  /** True when it was running already: another process, possibly a killed one, had started it. */
  readonly adopted: boolean
  /** The superuser's connection string for a database of the cluster. */
  uri(database: string): string
  /** The superuser's connection string for the database `postgres`, which always exists. */
  readonly superuserUri: string
  /** Closes all sessions, writes everything to disk, and resolves when Postgres has exited. */
  stop(): Promise<void>
}

export class PostgresFailed extends KnownError {
  readonly code = "postgres_failed"
}

// The sessions that a killed Postgres leaves running exit within this time, also on a machine that has no processor to spare.
const leftoversMs = 60_000

const settings = {
  listen_addresses: "",
  port: "5432",
  max_connections: "200",
  shared_buffers: "128MB",
  timezone: "UTC",
  log_timezone: "UTC",
  // The log is about Postgres itself: the error of a failed statement goes to the client that sent it.
  log_min_messages: "log",
  log_checkpoints: "off",
}

// For a disposable cluster: never wait for the disk, and keep the write-ahead log small, since the folder may be in memory. Processes that read
// ahead gain nothing there, and cost a test's database a tenth of its processor time. Passwords are random, so many iterations protect nothing.
const disposableSettings = {
  fsync: "off",
  full_page_writes: "off",
  max_wal_size: "128MB",
  io_method: "sync",
  scram_iterations: "1",
}

/**
 * Starts the cluster of a folder, or adopts the one that runs there. The first start takes a second or two.
 * @throws NoEmbeddedPostgres  when npm has no binaries for this machine
 * @throws PostgresFailed      when Postgres exits while it starts; the message contains the end of its log
 */
export async function startPostgres({
  folder,
  log,
  stopWithParent,
  isDisposable = false,
}: PostgresOptions): Promise<RunningPostgres> {
  const startedAt = performance.now()
  const { user, cluster, bin, password } = await makeCluster(folder, { isKept: !stopWithParent })
  const data = join(cluster, "data")
  for (;;) {
    const running = await findPostmaster(data)
    const ready = running
      ? await untilReady(data, running.identity)
      : await launch({ cluster, bin, user, stopWithParent, isDisposable, startedAt })
    if (!ready) continue
    const adopted = running !== undefined
    if (!adopted) await removeFormerBinaries(cluster)
    const durationMs = Math.round(performance.now() - startedAt)
    log.info({ pid: ready.identity.pid, folder: cluster, adopted, duration_ms: durationMs }, "postgres runs")
    return describe(ready, { password, adopted, log })
  }
}

/**
 * Finds the Postgres that runs on a folder, also while it starts; creates and starts nothing.
 * @returns  undefined when none runs
 */
export async function findPostgres({
  folder,
  log,
}: Pick<PostgresOptions, "folder" | "log">): Promise<RunningPostgres | undefined> {
  const password = await readFile(join(folder, "password"), "utf8").catch(ifCode(missing))
  if (password === undefined) return undefined
  const data = join(await realpath(folder), "data")
  const running = await findPostmaster(data)
  const ready = running && (await untilReady(data, running.identity))
  return ready && describe(ready, { password, adopted: true, log })
}

/**
 * Creates the cluster of a folder unless it exists. Starts nothing.
 * @param isKept  whether the folder gets a copy of the programs, which an upgrade of the installation does not change
 */
export async function makeCluster(folder: string, { isKept = false } = {}) {
  const user = postgresUser()
  const cluster = await makeClusterFolder(folder, user)
  const bin = await postgresBinaries(cluster, user, { isKept })
  return { user, cluster, bin, password: await ensureCluster(cluster, bin, user) }
}

function describe(
  { identity, socketFolder }: Postmaster,
  { password, adopted, log }: { password: string; adopted: boolean; log: Log },
): RunningPostgres {
  const uri = (database: string) => databaseUri({ host: socketFolder, user: "postgres", password, database })
  return { pid: identity.pid, adopted, uri, superuserUri: uri("postgres"), stop: () => stop(identity, log) }
}

interface Launch {
  readonly cluster: string
  readonly bin: string
  readonly user: OsUser | undefined
  readonly stopWithParent: boolean | undefined
  readonly isDisposable: boolean
  readonly startedAt: number
}

/** @returns  undefined when the caller should retry: another start was faster, or sessions of a killed Postgres still run */
async function launch({
  cluster,
  bin,
  user,
  stopWithParent,
  isDisposable,
  startedAt,
}: Launch): Promise<Postmaster | undefined> {
  const data = join(cluster, "data")
  const outputFile = join(cluster, "postgres.log")
  const logBegin = await trimmedLog(outputFile)
  const socketFolder = await makeSocketFolder(cluster, user)
  const options = Object.entries({
    ...settings,
    ...(isDisposable && disposableSettings),
    unix_socket_directories: socketFolder,
  })
  const settingsArgs = options.map(([name, value]) => `--${name}=${value}`)
  const command = [join(bin, "postgres"), "-D", data, ...settingsArgs] as const
  const identity = await spawnDetached({
    // INT means a fast shutdown.
    argv: stopWithParent ? endWithParent(command, "INT") : command,
    cwd: cluster,
    env: { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" },
    user,
    outputFile,
  })
  const ready = await untilReady(data, identity)
  if (ready) return ready
  const endOfLog = await readFrom(outputFile, logBegin)
  if (!/lock file|still in use/.test(endOfLog) || performance.now() - startedAt > leftoversMs) {
    throw new PostgresFailed(`Postgres did not start in ${cluster}: ${endOfLog.trim()}`)
  }
  await sleep(100)
  return undefined
}

// A fast shutdown writes everything to disk, which may take a while; an immediate one leaves recovery to the next start.
const shutdowns = [
  { signal: "SIGINT", waitMs: 60_000 },
  { signal: "SIGQUIT", waitMs: 30_000 },
] as const

async function stop(identity: ProcessIdentity, log: Log): Promise<void> {
  for (const { signal, waitMs } of shutdowns) {
    if (!(await isAlive(identity))) return
    process.kill(identity.pid, signal)
    if (await untilGone(identity, waitMs)) return
    log.warn({ pid: identity.pid, signal }, "Postgres has not stopped yet; sending the next signal")
  }
  throw new PostgresFailed(`Postgres (process ${identity.pid}) does not stop`)
}

/** @returns  where its next line will start, in bytes */
async function trimmedLog(file: string): Promise<number> {
  await rotateLog(file)
  const found = await stat(file).catch(ifCode(["ENOENT"]))
  return found?.size ?? 0
}

async function readFrom(file: string, begin: number): Promise<string> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(4096), position: begin })
  return buffer.toString("utf8", 0, bytesRead)
}
