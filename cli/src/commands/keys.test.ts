import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { findCaller } from "@superstep/control/workspaces/operations"
import { createLog } from "@superstep/toolkit/log/log"
import { startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { openHome } from "../home/home.js"
import { takeOwnership } from "../home/owner.js"
import { runCli } from "../testing/run-cli.js"

const json = <T>(text: string): T => JSON.parse(text) as T

test("a workspace and its keys are created in the database of DATABASE_URI", {
  skip: unlessWide("starts the CLI nine times"),
}, async () => {
  await using db = await freshDatabase()
  const run = (...args: string[]) => runCli(args, { cwd: temporaryFolder(), env: { DATABASE_URI: db.uri } })

  const workspace = json<{ id: string; name: string }>((await run("workspaces", "create", "acme", "--json")).stdout)
  const own = json<{ id: string; key: string }>(
    (await run("keys", "create", "--workspace", workspace.id, "--json")).stdout,
  )
  const org = json<{ key: string; workspace_id: null }>((await run("keys", "create", "--org", "--json")).stdout)

  assert.equal(workspace.name, "acme")
  assert.equal(org.workspace_id, null)
  assert.equal((await findCaller(db, own.key, undefined)).workspaceId, workspace.id)
  assert.equal((await findCaller(db, org.key, workspace.id)).workspaceId, workspace.id)

  const narrow = ["keys", "create", "--workspace", workspace.id, "--name", "app", "--scope", "run", "--json"]
  const app = json<{ key: string; scopes: string[] }>((await run(...narrow)).stdout)
  const unknown = await run("keys", "create", "--workspace", workspace.id, "--scope", "root")

  assert.deepEqual(app.scopes, ["run"])
  assert.deepEqual((await findCaller(db, app.key, undefined)).scopes, ["run"])
  assert.deepEqual((await findCaller(db, own.key, undefined)).scopes, ["admin"])
  assert.match((await run("keys", "list", "--workspace", workspace.id)).stdout, / app {2}run\n/)
  assert.match(unknown.stderr, /Allowed choices are read, run, deploy, secrets, admin/)

  const revoked = await run("keys", "revoke", own.id)

  assert.equal(revoked.code, 0)
  await assert.rejects(findCaller(db, own.key, undefined), /Invalid API key/)
})

test("a command exits after its work and does not stop the Postgres of a running installation", async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  await using _ownership = await takeOwnership(home, "superstep up")
  const postgres = await startPostgres({
    folder: await preparedCluster(home.postgres),
    log: createLog({ process: "test", level: "error" }),
  })
  try {
    const listed = await runCli(["workspaces", "list", "--home", home.folder], { cwd: temporaryFolder() })

    assert.equal(listed.code, 0)
    assert.doesNotThrow(() => process.kill(postgres.pid, 0))
  } finally {
    await postgres.stop()
  }
})

test("a key belongs to exactly one of a workspace and the installation", async () => {
  const cwd = temporaryFolder()

  const neither = await runCli(["keys", "create"], { cwd })
  const both = await runCli(["keys", "create", "--org", "--workspace", "x"], { cwd })

  for (const { code, stderr } of [neither, both]) {
    assert.equal(code, 1)
    assert.match(stderr, /give either --workspace <id> or --org/)
  }
})

test("without a running installation Postgres is started temporarily and stopped again", async () => {
  const cwd = temporaryFolder()

  const first = await runCli(["workspaces", "create", "acme"], { cwd })
  const again = await runCli(["workspaces", "create", "acme"], { cwd })
  const listed = await runCli(["workspaces", "list", "--json"], { cwd })

  assert.equal(first.code, 0, first.stderr)
  assert.match(again.stderr, /a workspace named acme exists/)
  assert.deepEqual(fieldsOf(json<{ name: string }[]>(listed.stdout), "name"), ["acme"])
  assert.equal(existsSync(join(cwd, ".superstep/running.json")), false)
  assert.equal(existsSync(join(cwd, ".superstep/postgres/data/postmaster.pid")), false)
})
