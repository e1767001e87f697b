import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { openHome } from "../home/home.js"
import { takeOwnership } from "../home/owner.js"
import { runCli } from "../testing/run-cli.js"

test("the master key is changed while nothing runs on the folder, and is in no output", async () => {
  await using db = await freshDatabase()
  const cwd = temporaryFolder()
  const home = await openHome(join(cwd, "home"))
  const run = () => runCli(["secrets", "rotate-key", "--home", home.folder], { cwd, env: { DATABASE_URI: db.uri } })
  const keyNow = () => readFileSync(join(home.folder, "master.key"), "utf8")

  const first = await run()
  const former = keyNow()
  const second = await run()
  const key = keyNow()
  const ownership = await takeOwnership(home, "superstep up")
  const refused = await run()
  await ownership[Symbol.asyncDispose]()

  assert.equal(first.code, 0, first.stderr)
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /0 values are sealed under the master key [0-9a-f]{8} \(it was [0-9a-f]{8}\)/)
  assert.notEqual(key, former)
  for (const { stdout, stderr } of [first, second])
    assert.ok(![former, key].some((it) => (stdout + stderr).includes(it)))
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /superstep up already runs on .*: stop it first/)
  assert.equal(keyNow(), key)
})
