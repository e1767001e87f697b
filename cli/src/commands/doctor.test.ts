import assert from "node:assert/strict"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runCli } from "../testing/run-cli.js"

test("doctor and backup leave nothing where there is no installation, and a backup of the folder of superstep dev is refused", async () => {
  const cwd = temporaryFolder()
  const env = { XDG_STATE_HOME: temporaryFolder() }

  const { stdout } = await runCli(["doctor"], { cwd, env })
  const refused = await runCli(["backup", "it.tar.gz"], { cwd, env })
  const left = readdirSync(cwd)
  mkdirSync(join(cwd, ".superstep", "postgres"), { recursive: true })
  const ofDev = await runCli(["backup", "it.tar.gz"], { cwd, env })

  assert.match(stdout, /✔ Postgres starts/)
  for (const { code, stderr } of [refused, ofDev]) {
    assert.equal(code, 1)
    assert.match(stderr, /there is no installation in .*\.superstep: name its data folder with --home/)
  }
  assert.deepEqual([left, readdirSync(cwd)], [[], [".superstep"]])
})
