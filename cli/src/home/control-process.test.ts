import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { startProgram } from "../testing/run-cli.js"
import { openHome } from "./home.js"
import { takeOwnership } from "./owner.js"

const main = fileURLToPath(new URL("../testing/killed-start-main.js", import.meta.url))

test("a program that is killed before it has noted its control plane leaves none behind", async (t) => {
  await using db = await freshDatabase()
  const home = await openHome(join(temporaryFolder(), "home"))
  const ports = [await freePort(), await freePort()].map(String)

  const killed = startProgram([process.execPath, main, home.folder, db.uri, ...ports], { cwd: temporaryFolder() })
  const { code, stdout, stderr } = await killed.ended
  assert.equal(code, null, stderr)
  const child = JSON.parse(stdout) as ProcessIdentity
  t.after(() => stopProcess(child, { graceMs: 0 }))

  await until(async () => !(await isAlive(child)), { what: "its child has ended" })
  assert.equal(readFileSync(join(home.logs, "control.log"), "utf8"), "")
  await using _next = await takeOwnership(home, "superstep up")
})
