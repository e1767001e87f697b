import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { lstat, mkdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import pg from "pg"
import { openDatabase } from "../db/database.js"
import { changeUri } from "../db/database-uri.js"
import { createDatabase } from "../db/provision.js"
import { sql } from "../db/sql.js"
import { identify, isAlive } from "../exec/process-identity.js"
import { createLog } from "../log/log.js"
import { preparedCluster } from "../testing/prepared-cluster.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { until } from "../testing/until.js"
import { UnsafeFolder } from "./folders.js"
import { PasswordLost } from "./initialize.js"
import { PostgresFailed, startPostgres } from "./start-postgres.js"

const log = createLog({ process: "test", level: "silent" })
const start = (folder: string) => startPostgres({ folder, log, stopWithParent: true })

/** Runs one statement as the superuser, or as whom the string names. */
async function ask<Row extends object>(uri: string, statement: Parameters<ReturnType<typeof openDatabase>["row"]>[0]) {
  await using db = openDatabase({ uri, log })
  return await db.row<Row>(statement)
}

/** The folder of a Postgres that ran. @returns  also the pid file that it had */
async function ranBefore() {
  const folder = await preparedCluster()
  const postgres = await start(folder)
  const pidFile = join(folder, "data", "postmaster.pid")
  const text = await readFile(pidFile, "utf8")
  await postgres.stop()
  return { folder, pidFile, text }
}

/** A program that starts Postgres in the folder, prints its pid and waits. */
const starter = (folder: string, stopWithParent: boolean): string => `
  const { startPostgres } = await import(${JSON.stringify(new URL("./start-postgres.js", import.meta.url).href)})
  const { createLog } = await import(${JSON.stringify(new URL("../log/log.js", import.meta.url).href)})
  const log = createLog({ process: "test", level: "silent" })
  const { pid } = await startPostgres({ folder: ${JSON.stringify(folder)}, log, stopWithParent: ${stopWithParent} })
  console.log(pid)
  process.stdin.resume()`

async function startInAnotherProcess(folder: string, stopWithParent: boolean) {
  const parent = spawn(process.execPath, ["--input-type=module", "--eval", starter(folder, stopWithParent)])
  const [line] = (await once(parent.stdout, "data")) as [Buffer]
  const identity = (await identify(Number(line))) ?? assert.fail("Postgres does not run")
  const kill = async () => {
    const gone = once(parent, "close")
    parent.kill("SIGKILL")
    await gone
  }
  return { identity, kill }
}

test("a first start creates a cluster that only its owner may read, and a second start finds its data", async () => {
  const folder = join(temporaryFolder(), "postgres")
  const first = await start(folder)
  await ask(first.superuserUri, sql`create table kept as select 7 as seven`)
  const modes = await Promise.all(
    ["password", "data"].map(async (name) => (await stat(join(folder, name))).mode & 0o777),
  )

  await first.stop()
  const second = await start(folder)
  const row = await ask(second.superuserUri, sql`select seven from kept`)
  await second.stop()

  assert.deepEqual(modes, [0o600, 0o700])
  assert.deepEqual(row, { seven: 7 })
  assert.equal(second.adopted, false)
  assert.notEqual(second.pid, first.pid)
})

test("of one Postgres", async (t) => {
  const postgres = await start(await preparedCluster())
  const adminUri = postgres.superuserUri

  await t.test("it listens only on a socket, keeps every commit and requires a password", async () => {
    const settings = await ask(
      adminUri,
      sql`select current_setting('listen_addresses') as tcp, current_setting('fsync') as fsync`,
    )

    assert.deepEqual(settings, { tcp: "", fsync: "on" })
    await assert.rejects(ask(changeUri(adminUri, { password: "guessed" }), sql`select 1`), { code: "28P01" })
  })

  await t.test("a role may connect only to its own database", async () => {
    const mine = await createDatabase({ adminUri, name: "mine", owner: { password: "secret" } })
    await createDatabase({ adminUri, name: "theirs", owner: { password: "other" } })

    const own = await ask(mine, sql`select current_user as who`)

    assert.deepEqual(own, { who: "mine" })
    for (const database of ["theirs", "postgres", "template1"])
      await assert.rejects(ask(changeUri(mine, { database }), sql`select 1`), { code: "28000" })
  })
  await postgres.stop()
})

test("it survives the kill of its parent, and the next start adopts it (P1, P2)", async () => {
  const folder = await preparedCluster()
  const { identity, kill } = await startInAnotherProcess(folder, false)
  await kill()

  const postgres = await start(folder)

  assert.equal(postgres.adopted, true)
  assert.equal(postgres.pid, identity.pid)
  assert.deepEqual(await ask(postgres.superuserUri, sql`select 1 as one`), { one: 1 })
  await postgres.stop()
  assert.equal(await isAlive(identity), false)
})

test("it stops with its parent if started with stopWithParent", { skip: process.platform !== "linux" }, async () => {
  const { identity, kill } = await startInAnotherProcess(await preparedCluster(), true)

  await kill()

  await until(async () => !(await isAlive(identity)), { what: "Postgres is gone" })
})

test("concurrent starts result in one Postgres (P3), whatever a killed initialization has left", async () => {
  const folder = temporaryFolder()
  await mkdir(join(folder, "data.killed"))
  await writeFile(join(folder, "data.killed", "PG_VERSION"), "18\n")

  const started = await Promise.all([start(folder), start(folder), start(folder)])

  assert.equal(new Set(started.map(({ pid }) => pid)).size, 1)
  for (const { superuserUri } of started) assert.deepEqual(await ask(superuserUri, sql`select 1 as one`), { one: 1 })
  await Promise.all(started.map((postgres) => postgres.stop()))
})

test("a pid file with the pid of another program does not count as a running Postgres", async () => {
  const { folder, pidFile, text } = await ranBefore()
  await writeFile(pidFile, text.replace(/^\d+/, String(process.pid)))

  const second = await start(folder)

  assert.equal(second.adopted, false)
  await second.stop()
})

test("a start waits for a former Postgres that is stopping", async () => {
  const folder = await preparedCluster()
  const first = await start(folder)
  const session = new pg.Client({ connectionString: first.superuserUri })
  await session.connect()
  // This signal lets open sessions end by themselves, so Postgres is stopping for as long as the test wants.
  process.kill(first.pid, "SIGTERM")
  const status = () => readFile(join(folder, "data", "postmaster.pid"), "utf8")
  await until(async () => (await status()).includes("stopping"), { what: "Postgres is stopping" })

  const starting = start(folder)
  await session.end()
  const second = await starting

  assert.equal(second.adopted, false)
  assert.deepEqual(await ask(second.superuserUri, sql`select 1 as one`), { one: 1 })
  await second.stop()
})

test("a folder with a long path gets its socket elsewhere", async () => {
  const folder = await preparedCluster(join(temporaryFolder(), "a".repeat(60), "b".repeat(60)))

  const postgres = await start(folder)

  const socketFolder = new URL(postgres.superuserUri).searchParams.get("host") ?? ""
  assert.ok(Buffer.byteLength(join(socketFolder, ".s.PGSQL.5432")) < 100)
  assert.deepEqual(await ask(postgres.superuserUri, sql`select 1 as one`), { one: 1 })
  await postgres.stop()
  await rm(socketFolder, { recursive: true })
})

test("a Postgres that cannot start says why, and a cluster whose password file is missing is not replaced", async () => {
  const { folder } = await ranBefore()
  await writeFile(join(folder, "data", "PG_VERSION"), "9.6\n")
  await assert.rejects(start(folder), (error: Error) => error instanceof PostgresFailed && /9\.6/.test(error.message))
  await rm(join(folder, "password"))

  await assert.rejects(start(folder), PasswordLost)
})

const asRoot = { skip: process.getuid?.() !== 0 && "only root must give Postgres to another user" }

test("as root, a folder that others cannot enter becomes a link to one that Postgres can enter", asRoot, async () => {
  const closed = join(temporaryFolder(), "closed")
  await mkdir(closed, { mode: 0o700 })
  const folder = join(closed, "postgres")

  const [first, second] = await Promise.all([start(folder), start(folder)])

  assert.equal(first.pid, second.pid)
  assert.equal((await lstat(folder)).isSymbolicLink(), true)
  assert.deepEqual(await ask(first.superuserUri, sql`select 1 as one`), { one: 1 })
  await first.stop()
  await rm(await realpath(folder), { recursive: true })
})

test("as root, a closed folder that is not empty is not changed", asRoot, async () => {
  const closed = join(temporaryFolder(), "closed")
  await mkdir(closed, { mode: 0o700 })
  await writeFile(join(closed, "notes"), "mine")

  await assert.rejects(start(closed), UnsafeFolder)

  assert.equal(await readFile(join(closed, "notes"), "utf8"), "mine")
})
