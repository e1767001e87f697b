import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { setpriv } from "@superstep/toolkit/exec/end-with-parent"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { findPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { withHomePostgres } from "./command-postgres.js"
import { type Home, openHome } from "./home.js"
import { takeOwnership } from "./owner.js"
import { readEntry } from "./owner-file.js"

const killedCommand = fileURLToPath(new URL("../testing/killed-command-main.js", import.meta.url))
const why = process.platform !== "linux" || !existsSync(setpriv) ? "only with setpriv of Linux" : false

test("the Postgres of a killed command stops too", { skip: why }, async () => {
  const home = await preparedHome()

  const { stdout } = spawnSync(process.execPath, [killedCommand, home.folder])

  const identity: ProcessIdentity = JSON.parse(String(stdout))
  await until(async () => !(await isAlive(identity)), { what: "Postgres has stopped" })
})

test("a command starts no Postgres while another program has the folder", async () => {
  const home = await preparedHome()
  const ownership = await takeOwnership(home, "superstep up")
  let hasLooked = () => {}
  const looked = new Promise<void>((resolve) => {
    hasLooked = resolve
  })
  const watched: Home = Object.defineProperty({ ...home }, "postgres", {
    get: () => {
      hasLooked()
      return home.postgres
    },
  })
  const owner = withHomePostgres({ home: watched, command: "superstep keys" }, async () => readEntry(home.owner))
  await looked

  // Its start fails before it starts Postgres.
  await ownership[Symbol.asyncDispose]()

  assert.equal((await owner)?.command, "superstep keys")
  assert.equal(await findPostgres({ folder: home.postgres, log: home.log }), undefined)
})

async function preparedHome(): Promise<Home> {
  const home = await openHome(join(temporaryFolder(), "home"))
  await preparedCluster(home.postgres)
  return home
}
