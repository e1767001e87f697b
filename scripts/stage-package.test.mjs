import assert from "node:assert/strict"
import test from "node:test"
import { missingDependencies, withRelativeImports } from "./stage-package.mjs"

test("an import of another package of ours becomes a path inside the tarball", () => {
  const text = 'import { sql } from "@superstep/toolkit/db/sql";\nimport pg from "pg";\n'

  assert.equal(
    withRelativeImports(text, "server/dist/runs/queries.js"),
    'import { sql } from "../../../toolkit/dist/db/sql.js";\nimport pg from "pg";\n',
  )
})

test("so does the address of a program that is started", () => {
  assert.equal(
    withRelativeImports('import.meta.resolve("@superstep/worker-js/main")', "server/dist/workers/pool.js"),
    'import.meta.resolve("../../../worker-js/dist/main.js")',
  )
})

test("the published package names everything that our packages need", () => {
  assert.deepEqual(missingDependencies(), [])
})
