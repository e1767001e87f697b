import assert from "node:assert/strict"
import { chmodSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { identify } from "@superstep/toolkit/exec/process-identity"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { HomeInUse, openHome } from "./home.js"
import { foldersOf } from "./pipeline/folders.js"
import { ForeignFolder, makeOwnFolder } from "./runtimes/own-folder.js"

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

test("a folder for sockets that others made, or may write to, is refused", async () => {
  const folders = { ...foldersOf(join(temporaryFolder(), "home")), run: join(temporaryFolder(), "run") }
  mkdirSync(folders.run)
  chmodSync(folders.run, 0o777)
  await assert.rejects(openHome(folders), ForeignFolder)
  rmSync(folders.run, { recursive: true })
  symlinkSync(temporaryFolder(), folders.run)
  await assert.rejects(openHome(folders), ForeignFolder)
  rmSync(folders.run)

  await openHome(folders)
  await makeOwnFolder(folders.run, 0o700)

  assert.equal(statSync(folders.run).mode & 0o777, 0o700)
})
