import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { foldersOf } from "./folders.js"
import { HomeInUse, openHome } from "./home.js"

test("one process uses a data folder; the lock of a dead one is taken over", async () => {
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
