/**
 * The embedded Postgres: one cluster a folder, reached over a Unix socket only.
 * P1 it survives its parent, `kill -9` included; P2 a start on a folder whose Postgres runs takes that one over; P3 two
 * starts at once end with one Postgres; P4 nobody connects without a password, and a role reaches only its own database.
 * It stops by `stop`, or with its parent when it was started so.
 */
import { access, constants, open, rename, stat } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { databaseUri } from "../db/database-uri.js"
import { KnownError } from "../errors/errors.js"
import { isAlive, type ProcessIdentity } from "../exec/process-identity.js"
import { type OsUser, spawnDetached } from "../exec/spawn-detached.js"
import { untilGone } from "../exec/stop-process.js"
import type { Log } from "../log/log.js"
import { postgresBinaries, removeFormerBinaries } from "./binaries.js"
import { makeClusterFolder, makeSocketFolder } from "./folders.js"
import { ensureCluster } from "./initialize.js"
import { postgresUser } from "./postgres-user.js"
import { findPostmaster, type Postmaster, untilReady } from "./postmaster.js"

export interface PostgresOptions {
  /** Holds all of the cluster. It is made when it is missing; as root it may become a link to a reachable one. */
  readonly folder: string
  readonly log: Log
  /** Stop when the parent dies. Works on Linux with util-linux; elsewhere the next start takes Postgres over. */
  readonly stopWithParent?: boolean
  /** Nothing in it has to survive a power failure, so it waits for no disk. Its data still survives `kill -9`. For tests. */
  readonly isDisposable?: boolean
}

export interface RunningPostgres {
  readonly pid: number
  /** True when it ran before: another process had started it, or an earlier one that was killed. */
  readonly adopted: boolean
  /** The superuser's connection string for a database of the cluster. */
  uri(database: string): string
  /** The superuser's connection string for `postgres`, the database that is always there. */
  readonly superuserUri: string
  /** Ends all sessions, writes everything down and waits until Postgres is gone. */
  stop(): Promise<void>
}

export class PostgresFailed extends KnownError {
  readonly code = "postgres_failed"
}

// What a killed Postgres leaves running (its sessions) ends by itself within this time.
const leftoversMs = 10_000

const settings = {
  listen_addresses: "",
  port: "5432",
  max_connections: "200",
  shared_buffers: "128MB",
  timezone: "UTC",
  log_timezone: "UTC",
  // Its log tells of Postgres itself. A failed statement is told to the client that sent it.
  log_min_messages: "log",
  log_checkpoints: "off",
}

// Of a disposable cluster: no wait for the disk, and no more of the log than its folder, which may be in memory, has room for.
const disposableSettings = { fsync: "off", full_page_writes: "off", max_wal_size: "128MB" }

/**
 * Starts the cluster of a folder, or takes over the one that runs there. The first start takes a second or two.
 * @throws NoEmbeddedPostgres  when npm has no binaries for this machine
 * @throws PostgresFailed      when Postgres ends while it starts; the message holds its last words
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
 * Makes the cluster of a folder, unless it is there. Nothing is started.
 * @param isKept  whether the folder gets a copy of the programs, which an upgrade of the installation leaves alone
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

/** @returns  undefined when it should be tried again: another start was quicker, or a killed Postgres has not quite ended */
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
  const logBegin = await trimLog(outputFile)
  const socketFolder = await makeSocketFolder(cluster, user)
  const options = Object.entries({
    ...settings,
    ...(isDisposable && disposableSettings),
    unix_socket_directories: socketFolder,
  })
  const identity = await spawnDetached({
    argv: [
      ...(stopWithParent ? await endWithParent() : []),
      join(bin, "postgres"),
      "-D",
      data,
      ...options.map(([name, value]) => `--${name}=${value}`),
    ] as [string, ...string[]],
    cwd: cluster,
    env: { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" },
    user,
    outputFile,
  })
  const ready = await untilReady(data, identity)
  if (ready) return ready
  const lastWords = await readFrom(outputFile, logBegin)
  if (!/lock file|still in use/.test(lastWords) || performance.now() - startedAt > leftoversMs) {
    throw new PostgresFailed(`Postgres did not start in ${cluster}: ${lastWords.trim()}`)
  }
  await sleep(100)
  return undefined
}

/** On Linux the kernel can tell Postgres that its parent has died; INT means a fast shutdown. */
async function endWithParent(): Promise<string[]> {
  const setpriv = "/usr/bin/setpriv"
  const isThere =
    process.platform === "linux" &&
    (await access(setpriv, constants.X_OK).then(
      () => true,
      () => false,
    ))
  return isThere ? [setpriv, "--pdeathsig=INT", "--"] : []
}

// Fast shutdown writes everything down, which may take a while; the immediate one leaves that to the next start.
const shutdowns = [
  { signal: "SIGINT", waitMs: 60_000 },
  { signal: "SIGQUIT", waitMs: 30_000 },
] as const

async function stop(identity: ProcessIdentity, log: Log): Promise<void> {
  for (const { signal, waitMs } of shutdowns) {
    if (!(await isAlive(identity))) return
    process.kill(identity.pid, signal)
    if (await untilGone(identity, waitMs)) return
    log.warn({ pid: identity.pid, signal }, "postgres is slow to stop")
  }
  throw new PostgresFailed(`Postgres (process ${identity.pid}) does not stop`)
}

const largestLogBytes = 10 * 1024 * 1024

/** Keeps the log from growing for ever: one older part is kept. @returns where the next entry will begin, in bytes */
async function trimLog(file: string): Promise<number> {
  const size = await stat(file).then(
    ({ size }) => size,
    () => 0,
  )
  if (size <= largestLogBytes) return size
  await rename(file, `${file}.1`)
  return 0
}

async function readFrom(file: string, begin: number): Promise<string> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(4096), position: begin })
  return buffer.toString("utf8", 0, bytesRead)
}
