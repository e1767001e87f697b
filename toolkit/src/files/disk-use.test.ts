import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { usedDiskMb } from "./disk-use.js"

test("the disk use of folders is measured, also if one is missing; without a measurement the build fails", async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, "large"), Buffer.alloc(3 * 1024 * 1024, 1))

  const used = await usedDiskMb([folder, join(folder, "gone")])
  const path = process.env.PATH
  process.env.PATH = folder
  const withoutDu = usedDiskMb([folder]).finally(() => {
    process.env.PATH = path
  })

  assert.equal(used, 3)
  await assert.rejects(withoutDu, /du did not report how much disk space the folders use/)
})
