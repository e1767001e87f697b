import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import test from "node:test"
import { freePort } from "../testing/free-port.js"
import { freshDatabase } from "../testing/fresh-database.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { testCluster } from "../testing/test-cluster.js"
import { until } from "../testing/until.js"
import { unlessWide } from "../testing/wide-tests.js"
import {
  inspectServer,
  oldestMajor,
  refuseUnsupportedServer,
  sharesSessions,
  UnsupportedServer,
} from "./inspect-server.js"
import { createDatabase, dropDatabase, MissingPrivilege } from "./provision.js"

test("a server's version and its available connections are read", async () => {
  await using db = await freshDatabase()

  const facts = await inspectServer(db.uri)

  assert.ok(facts.majorVersion >= oldestMajor)
  assert.ok(facts.mostConnections > 50 && facts.mostConnections < 1000)
})

test("a role that may not create databases causes an error with the statement that grants it, and may be of one database", async () => {
  const adminUri = await testCluster()
  const name = `test_plain_${process.pid}`
  const uri = await createDatabase({ adminUri, name, owner: { password: "secret" } })

  await assert.rejects(inspectServer(uri), (error) => {
    assert.ok(error instanceof MissingPrivilege)
    assert.match(error.message, new RegExp(`alter role "${name}" createdb createrole;`))
    assert.doesNotMatch(error.message, /secret/)
    return true
  })
  await refuseUnsupportedServer(uri)
  await dropDatabase({ adminUri, name })
})

test("PgBouncer is refused with transactions as its pools, and accepted with sessions", {
  skip: unlessWide("needs PgBouncer"),
}, async () => {
  await using db = await freshDatabase()
  await using transactions = await startPgBouncer(db.uri, "transaction")
  await using sessions = await startPgBouncer(db.uri, "session")

  await assert.rejects(refuseUnsupportedServer(transactions.uri), UnsupportedServer)
  await refuseUnsupportedServer(sessions.uri)
})

/** PgBouncer in front of a database on a Unix socket. */
async function startPgBouncer(
  uri: string,
  mode: "transaction" | "session",
): Promise<AsyncDisposable & { uri: string }> {
  const folder = temporaryFolder()
  const target = new URL(uri)
  const database = target.pathname.slice(1)
  const [user, password] = [target.username, target.password].map(decodeURIComponent)
  const port = await freePort()
  const users = join(folder, "users.txt")
  writeFileSync(users, `"${user}" "${password}"\n`, { mode: 0o644 })
  const settings = [
    "[databases]",
    `${database} = host=${target.searchParams.get("host")} port=${target.port || 5432}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${users}`,
    `pool_mode = ${mode}`,
  ]
  const file = join(folder, "pgbouncer.ini")
  writeFileSync(file, settings.join("\n"))
  chmodSync(folder, 0o755)
  // It does not run as root.
  const as = process.getuid?.() === 0 ? ["--user", "nobody"] : []
  const child = spawn("/usr/sbin/pgbouncer", ["--quiet", ...as, file], { stdio: "ignore" })
  const exited = once(child, "exit")
  const address = `postgres://${target.username}:${target.password}@127.0.0.1:${port}/${database}`
  await until(() => canConnect(port), { what: "PgBouncer listens" })
  return {
    uri: address,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await exited
    },
  }
}

const canConnect = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1")
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false))
    socket.on("connect", () => socket.destroy())
  })

/** The server processes that two sessions had at each look. */
const looks = (text: string) => text.split(" ").map((look) => look.split("-").map(Number) as [number, number])

test("sessions are shared when two have one server process, or when one changes its own", () => {
  assert.equal(sharesSessions(looks("1-2 1-2")), false)
  assert.equal(sharesSessions(looks("1-1 1-1")), true)
  // Another client of the pooler had the first process in between.
  assert.equal(sharesSessions(looks("1-2 2-3 1-2")), true)
})

test("the pages for operators name the oldest version of Postgres that is accepted", () => {
  for (const name of ["operations", "kubernetes"]) {
    const page = readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8")
    const versions = [...page.matchAll(/(?:Postgres|version)\s+(\d+)\s+or\s+newer/g)].map(([, version]) =>
      Number(version),
    )

    assert.ok(versions.includes(oldestMajor), name)
    assert.deepEqual(new Set(versions), new Set([oldestMajor]), name)
  }
})
