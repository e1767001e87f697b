import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { pathToFileURL } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { entryOf } from "./program.js"

test("a printed error names a page that its reader has: in a clone, and in an installed package", () => {
  const folder = temporaryFolder()
  const lib = pathToFileURL(`${folder}/`)
  mkdirSync(join(folder, "docs/site"), { recursive: true })
  writeFileSync(join(folder, "docs/site/errors.html"), "")

  const installed = entryOf("not_found", lib)
  writeFileSync(join(folder, "docs/errors.md"), "")
  const clone = entryOf("not_found", lib)

  assert.equal(installed, `${lib}docs/site/errors.html#not_found`)
  assert.equal(clone, "docs/errors.md#not_found")
  assert.equal(entryOf("not_found"), clone)
})
