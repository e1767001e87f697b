import assert from "node:assert/strict"
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { lostProgram, noteProgram } from "./unit-program.js"

test("a unit's files are lost when they are removed, or replaced by those of another release", async () => {
  const [installation, unit] = [join(temporaryFolder(), "superstep"), temporaryFolder()]
  mkdirSync(installation)
  const entry = join(installation, "main.js")
  writeFileSync(entry, "run()")
  assert.equal(await lostProgram(unit), undefined, "an older release has noted nothing")

  await noteProgram(unit, { deploymentId: "d1", entry })
  assert.equal(await lostProgram(unit), undefined)

  // As npm does it: the new files are put together elsewhere, with the same times, and get the name.
  cpSync(installation, `${installation}.new`, { recursive: true, preserveTimestamps: true })
  renameSync(installation, `${installation}.old`)
  renameSync(`${installation}.new`, installation)
  assert.equal((await lostProgram(unit))?.deploymentId, "d1")

  await noteProgram(unit, { deploymentId: "d1", entry })
  assert.equal(await lostProgram(unit), undefined)
  rmSync(installation, { recursive: true })
  assert.equal((await lostProgram(unit))?.deploymentId, "d1")
  await assert.rejects(noteProgram(unit, { deploymentId: "d1", entry }), /there is no .*main\.js/)
})
