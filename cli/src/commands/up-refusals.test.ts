/** What is looked at before anything is started. */
import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runCli } from "../testing/run-cli.js"

test("an invalid Postgres address is refused before anything is started", async () => {
  for (const command of ["up", "serve", "dev"]) {
    const cwd = temporaryFolder()

    const { code, stderr } = await runCli([command], { cwd, env: { DATABASE_URI: "nonsense" } })

    assert.equal(code, 1)
    assert.match(stderr, /DATABASE_URI: expected an address such as postgres:\/\/user:password@host:5432\/name/)
    assert.equal(existsSync(join(cwd, ".superstep")), false)
  }
})

test("without git nothing is started, and the error names --no-example", async () => {
  const cwd = temporaryFolder()
  const args = ["up", "--port", String(await freePort()), "--agents-port", String(await freePort())]

  const { code, stderr } = await runCli(args, { cwd, env: { PATH: join(cwd, "nothing") } })

  assert.equal(code, 1)
  assert.match(stderr, /git is not installed: install it, or start without the example \(--no-example\)/)
  assert.equal(existsSync(join(cwd, ".superstep/postgres")), false)
})
