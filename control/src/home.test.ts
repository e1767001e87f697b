import assert from "node:assert/strict"
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { readConfig } from "./config.js"
import { HomeInUse, InvalidMasterKey, loadMasterKey, openHome } from "./home.js"
import { foldersOf } from "./pipeline/folders.js"
import { open, seal } from "./secrets/seal.js"

const config = (env: Record<string, string> = {}) => readConfig({ DATABASE_URI: "postgres://localhost/x", ...env })

test("one process has a data folder; the lock of a dead one is taken over", async () => {
  const folders = foldersOf(join(temporaryFolder(), "home"))
  mkdirSync(folders.home)
  const lock = join(folders.home, "control.json")
  const self = await identify(process.pid)
  writeFileSync(lock, JSON.stringify(self))
  await assert.rejects(openHome(folders), HomeInUse)

  writeFileSync(lock, JSON.stringify({ ...self, startTicks: 1 }))
  const id = await openHome(folders)

  writeFileSync(lock, JSON.stringify({ ...self, startTicks: 1 }))
  assert.equal(await openHome(folders), id)
})

test("the master key is made once, for its owner alone, and a wrong one is refused", async () => {
  const folders = foldersOf(temporaryFolder())
  const sealed = seal(await loadMasterKey(config(), folders, silent), "value", ["x"])

  assert.equal(open(await loadMasterKey(config(), folders, silent), sealed, ["x"]), "value")
  assert.equal(statSync(join(folders.home, "master.key")).mode & 0o777, 0o600)
  await assert.rejects(loadMasterKey(config({ SUPERSTEP_MASTER_KEY: "short" }), folders, silent), InvalidMasterKey)
})
