/** What is looked at before anything is started. */
import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runCli } from "../testing/run-cli.js"

test("without git nothing is started, and the way to start without the example is told", async () => {
  const cwd = temporaryFolder()
  const args = ["up", "--port", String(await freePort()), "--agents-port", String(await freePort())]

  const { code, stderr } = await runCli(args, { cwd, env: { PATH: join(cwd, "nothing") } })

  assert.equal(code, 1)
  assert.match(stderr, /git is not installed: install it, or start without the example \(--no-example\)/)
  assert.equal(existsSync(join(cwd, ".superstep/postgres")), false)
})
