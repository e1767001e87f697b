import assert from "node:assert/strict"
import { chmodSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { ForeignFolder, makeOwnFolder } from "@superstep/toolkit/files/own-folder"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { machineFolders, prepareFolders } from "./folders.js"

test("a socket folder that others created, or may write to, is refused", async () => {
  const folders = { ...machineFolders(join(temporaryFolder(), "home")), run: join(temporaryFolder(), "run") }
  mkdirSync(folders.run)
  chmodSync(folders.run, 0o777)
  await assert.rejects(prepareFolders(folders), ForeignFolder)
  rmSync(folders.run, { recursive: true })
  symlinkSync(temporaryFolder(), folders.run)
  await assert.rejects(prepareFolders(folders), ForeignFolder)
  rmSync(folders.run)

  await prepareFolders(folders)
  await makeOwnFolder(folders.run, 0o700)

  assert.equal(statSync(folders.run).mode & 0o777, 0o700)
})

test("the folder for sockets is outside of a data folder with a long path", () => {
  assert.equal(machineFolders("/srv/agents").run, "/srv/agents/run")
  assert.ok(Buffer.byteLength(machineFolders(`/${"long/".repeat(30)}`).run) <= 70)
})
