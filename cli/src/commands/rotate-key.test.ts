import assert from "node:assert/strict"
import { randomBytes, randomUUID } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { masterKey, open, seal } from "@superstep/control/secrets/seal"
import { contextOf } from "@superstep/control/secrets/sealed-columns"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { openHome } from "../home/home.js"
import { takeOwnership } from "../home/owner.js"
import { type Running, runCli, startProgram } from "../testing/run-cli.js"

const controlScript = fileURLToPath(import.meta.resolve("@superstep/control/main"))

test("the master key is changed while nothing runs on the folder, and is in no output", async () => {
  await using db = await freshDatabase()
  const cwd = temporaryFolder()
  const home = await openHome(join(cwd, "home"))
  const run = () => runCli(["secrets", "rotate-key", "--home", home.folder], { cwd, env: { DATABASE_URI: db.uri } })
  const keyNow = () => readFileSync(join(home.folder, "master.key"), "utf8")

  const first = await run()
  const former = keyNow()
  const second = await run()
  const key = keyNow()
  const ownership = await takeOwnership(home, "superstep up")
  const refused = await run()
  await ownership[Symbol.asyncDispose]()

  assert.equal(first.code, 0, first.stderr)
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /0 values are encrypted with the master key [0-9a-f]{8} \(before: [0-9a-f]{8}\)/)
  assert.notEqual(key, former)
  for (const { stdout, stderr } of [first, second])
    assert.ok(![former, key].some((it) => (stdout + stderr).includes(it)))
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /superstep up is already running on .*: stop it first/)
  assert.equal(keyNow(), key)
})

test("a key from a file is changed, the next start requires the new one in that file, and no other folder can use the database", {
  skip: unlessWide("starts four installations"),
}, async () => {
  await using db = await freshDatabase()
  const cwd = temporaryFolder()
  const home = await openHome(join(cwd, "home"))
  const [file, former, next] = [join(cwd, "key"), newKey(), newKey()]
  writeFileSync(file, `${former}\n`)
  const env = { DATABASE_URI: db.uri, SUPERSTEP_MASTER_KEY_FILE: file }
  const rotate = (change: NodeJS.ProcessEnv = {}) =>
    runCli(["secrets", "rotate-key", "--home", home.folder], { cwd, env: { ...env, ...change } })
  const twoPorts = async () => ({
    SUPERSTEP_PORT: String(await freePort()),
    SUPERSTEP_AGENTS_PORT: String(await freePort()),
  })
  const [ports, otherPorts] = [await twoPorts(), await twoPorts()]
  const start = (folder = home.folder, on = ports) => {
    const settings = {
      ...env,
      ...on,
      SUPERSTEP_HOME: folder,
      SUPERSTEP_STOP_ALL_ON_EXIT: "1",
      PATH: process.env.PATH,
    }
    return startProgram([process.execPath, controlScript], { cwd, env: settings })
  }
  const untilUp = (control: Running) =>
    until(() => control.lines.some((line) => line.includes("control plane listens")), { what: "it is up" })

  const first = start()
  await untilUp(first)
  const foreign = await start(join(cwd, "other"), otherPorts).ended
  const busy = await runCli(["secrets", "rotate-key", "--home", join(cwd, "third")], { cwd, env })
  first.signal("SIGTERM")
  await first.ended
  const seal = await sealToken(db, former)
  const unasked = await rotate()
  const done = await rotate({ SUPERSTEP_NEXT_MASTER_KEY: next })
  const refused = await start().ended
  writeFileSync(file, next)
  const last = start()
  await untilUp(last)
  last.signal("SIGTERM")

  assert.equal((await last.ended).code, 0)
  for (const { code, stderr } of [foreign, busy]) {
    assert.equal(code, 1)
    assert.match(stderr, /control plane of another data folder uses this database/)
  }
  assert.match(unasked.stderr, new RegExp(`the key comes from ${file}: set the next key in SUPERSTEP_NEXT_MASTER_KEY`))
  assert.equal(done.code, 0, done.stderr)
  assert.match(done.stdout, /1 values are encrypted/)
  assert.match(done.stderr, new RegExp(`set ${file} to the value of SUPERSTEP_NEXT_MASTER_KEY`))
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, new RegExp(`${file} is the master key [0-9a-f]{8}, but the database is encrypted with`))
  assert.equal(await seal.openedWith(next), "the-git-token")
})

const newKey = () => randomBytes(32).toString("base64")
const keyOf = (text: string) => masterKey(Buffer.from(text, "base64"))

/** An integration's token, as the control plane stores it. */
async function sealToken(db: Database, key: string) {
  const id = randomUUID()
  const row = await db.row<{ workspace_id: string }>(sql`
    insert into workspaces (workspace_id, name) values (${randomUUID()}, 'sealed') returning workspace_id`)
  assert.ok(row)
  const context = contextOf.integration(row.workspace_id, id)
  await db.run(sql`
    insert into integrations (integration_id, workspace_id, kind, name, host, token_sealed)
    values (${id}, ${row.workspace_id}, 'git', 'git', 'github.com', ${seal(keyOf(key), "the-git-token", context)})`)
  const openedWith = async (other: string) => {
    const stored = await db.row<{ token_sealed: string }>(sql`select token_sealed from integrations`)
    return open(keyOf(other), stored?.token_sealed ?? "", context)
  }
  return { openedWith }
}
