import assert from "node:assert/strict"
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { recordProgram, replacedProgram } from "./unit-program.js"

test("a unit's program counts as replaced when its files are removed or from another release", async () => {
  const [installation, unit] = [join(temporaryFolder(), "superstep"), temporaryFolder()]
  mkdirSync(installation)
  const entry = join(installation, "main.js")
  writeFileSync(entry, "run()")
  assert.equal(await replacedProgram(unit), undefined, "an older release has noted nothing")

  await recordProgram(unit, { deploymentId: "d1", entry })
  assert.equal(await replacedProgram(unit), undefined)

  // As npm installs: the new files are created elsewhere, with the same times, and then renamed.
  cpSync(installation, `${installation}.new`, { recursive: true, preserveTimestamps: true })
  renameSync(installation, `${installation}.old`)
  renameSync(`${installation}.new`, installation)
  assert.equal((await replacedProgram(unit))?.deploymentId, "d1")

  await recordProgram(unit, { deploymentId: "d1", entry })
  assert.equal(await replacedProgram(unit), undefined)
  rmSync(installation, { recursive: true })
  assert.equal((await replacedProgram(unit))?.deploymentId, "d1")
  await assert.rejects(recordProgram(unit, { deploymentId: "d1", entry }), /main\.js is missing/)
})
