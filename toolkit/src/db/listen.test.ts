import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { test } from "node:test"
import { startPostgres } from "../postgres/start-postgres.js"
import { lateOnBusyMachineMs } from "../testing/busy-machine.js"
import { freshDatabase } from "../testing/fresh-database.js"
import { postgresProxy } from "../testing/postgres-proxy.js"
import { preparedCluster } from "../testing/prepared-cluster.js"
import { silent } from "../testing/test-cluster.js"
import { until } from "../testing/until.js"
import { type Database, openDatabase } from "./database.js"
import { listenOn } from "./listen.js"
import { sql } from "./sql.js"

const notify = (db: Database, channel: string, payload: string) => db.run(sql`select pg_notify(${channel}, ${payload})`)

/** Ends the listening session, as a restart or a network would. It is the one whose last statement was a `listen`. */
const cut = (db: Database) =>
  db.run(sql`select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and query ~ '^(un)?listen'`)

test("a notification reaches every listener of its channel and no other, also beside one that fails (L1)", async () => {
  await using db = await freshDatabase()
  const heard: string[] = []
  const fail = () => {
    throw new Error("my fault")
  }
  await Promise.all([
    db.listen("runs", fail, fail),
    db.listen(
      "runs",
      (payload) => heard.push(`runs ${payload}`),
      () => heard.push("runs again"),
    ),
    db.listen('odd "name"', (payload) => heard.push(`odd ${payload}`)),
  ])

  await notify(db, "runs", "r1")
  await notify(db, 'odd "name"', "o1")

  await until(() => heard.length === 2, { what: "both got it" })
  assert.deepEqual(heard.sort(), ["odd o1", "runs r1"])
  await cut(db)
  await until(() => heard.includes("runs again"), { what: "the one is called after the new connection" })
})

test("a channel that is left and listened to again at once gets notifications", async () => {
  await using db = await freshDatabase()
  const heard: string[] = []
  const first = await db.listen("runs", () => heard.push("first"))

  const [, second] = await Promise.all([first.close(), db.listen("runs", () => heard.push("second"))])
  await notify(db, "runs", "")

  await until(() => heard.length > 0, { what: "the notification is there" })
  assert.deepEqual(heard, ["second"])
  await second.close()
})

test("after a lost connection every channel is listened to again, and onReconnect is called (L2)", async () => {
  await using db = await freshDatabase()
  const heard: string[] = []
  for (const channel of ["a", "b"]) {
    await db.listen(
      channel,
      () => heard.push(channel),
      () => heard.push(`${channel} again`),
    )
  }

  await cut(db)
  await until(() => heard.length === 2, { what: "both are called after the new connection" })
  await notify(db, "a", "")
  await notify(db, "b", "")

  await until(() => heard.length === 4, { what: "both hear again" })
  assert.deepEqual(heard, ["a again", "b again", "a", "b"])
})

test("a listen that waits while the connection is lost is completed on the next one", async () => {
  await using db = await freshDatabase()
  const heard: string[] = []
  await db.listen("a", () => heard.push("a"))

  const [, late] = await Promise.all([
    cut(db),
    db.listen(
      "b",
      () => heard.push("b"),
      () => heard.push("b again"),
    ),
  ])
  await until(
    async () => {
      await notify(db, "b", "")
      return heard.includes("b")
    },
    { what: "the late one hears" },
  )

  await late.close()
})

test("a name is locked by one process at a time, also after a lost connection, until its database is closed (L4)", async () => {
  await using db = await freshDatabase()
  await using one = openDatabase({ uri: db.uri, log: silent })
  await using other = openDatabase({ uri: db.uri, log: silent })
  let reconnects = 0

  const held = await one.hold("a name")
  await one.listen(
    "runs",
    () => undefined,
    () => reconnects++,
  )
  const [same, another] = [await other.hold("a name"), await other.hold("another name")]
  await cut(db)
  await until(() => reconnects > 0, { what: "the connection is made again" })
  const afterwards = await other.hold("a name")
  await one.close()

  assert.deepEqual([held, same, another, afterwards], [true, false, true, false])
  await until(() => other.hold("a name"), { what: "the name is free" })
})

test("a name that another session has locked meanwhile is locked again when it is free (L4)", async () => {
  await using db = await freshDatabase()
  await using one = openDatabase({ uri: db.uri, log: silent })
  await using thief = openDatabase({ uri: db.uri, poolSize: 1, log: silent })
  await using third = openDatabase({ uri: db.uri, log: silent })
  const here = sql`locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`
  let reconnects = 0
  await one.hold("a name")
  await one.listen(
    "runs",
    () => undefined,
    () => reconnects++,
  )

  await thief.transaction(async (tx) => {
    // It waits for the name, so it has it before the one that lost it comes back.
    const taken = tx.run(sql`select pg_advisory_xact_lock(hashtextextended('a name', 0))`)
    await until(() => db.row(sql`select from pg_locks where ${here} and not granted`), {
      what: "it waits",
    })
    await db.run(sql`select pg_terminate_backend(pid) from pg_locks where ${here} and granted`)
    await taken
    await until(() => reconnects > 0, { what: "the connection is made again" })
  })

  const isHeld = sql`select from pg_locks where ${here} and granted`
  await until(() => db.row(isHeld), { what: "it is held again" })
  assert.equal(await third.hold("a name"), false)
})

test("no callback comes after close (L3)", async () => {
  await using db = await freshDatabase()
  const other = openDatabase({ uri: db.uri, log: silent })
  const heard: string[] = []
  await other.listen("runs", () => heard.push("closed"))
  await db.listen("runs", () => heard.push("open"))

  const closed = other.close()
  await notify(db, "runs", "")
  await closed

  await until(() => heard.includes("open"), { what: "the open one hears" })
  assert.deepEqual(heard, ["open"])
  await assert.rejects(
    other.listen("runs", () => undefined),
    /closed/,
  )
})

test("close does not wait for an unreachable server", async () => {
  const postgres = await startPostgres({ folder: await preparedCluster(), log: silent, stopWithParent: true })
  const db = openDatabase({ uri: postgres.superuserUri, log: silent })
  const subscription = await db.listen("runs", () => undefined)
  await postgres.stop()

  const waiting = db.listen("more", () => undefined)
  const refused = assert.rejects(waiting)
  await subscription.close()
  await db.close()

  await refused
})

test("a failure of the first connection is reported and not retried forever", async () => {
  const connections: Socket[] = []
  const server = createServer((socket) => connections.push(socket.destroy()))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  await using db = openDatabase({ uri: `postgres://u:p@127.0.0.1:${port}/d`, log: silent })

  await assert.rejects(db.listen("runs", () => undefined))
  await assert.rejects(db.listen("runs", () => undefined))

  assert.equal(connections.length, 2)
  server.close()
})

test("a listener notices that the host has vanished without a word, and listens again (L5)", {
  timeout: 60_000,
}, async () => {
  await using db = await freshDatabase()
  await using proxy = await postgresProxy(db.uri)
  const heard: string[] = []
  let reconnections = 0
  const listener = listenOn(proxy.uri, silent, { answerMs: lateOnBusyMachineMs, pingMs: 100 })
  await listener.listen(
    "runs",
    (payload) => heard.push(payload),
    () => reconnections++,
  )

  proxy.cut("vanish")
  await until(() => reconnections === 1, { what: "it listens again" })
  await notify(db, "runs", "r1")

  await until(() => heard.length > 0, { what: "the notification is there" })
  assert.deepEqual(heard, ["r1"])
  await listener.close()
})
