/** What is refused before anybody is asked to go; tests/src/take-over*.test.ts have the rest, with whole installations. */
import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runCli } from "../testing/run-cli.js"
import { openHome } from "./home.js"
import { takeOwnership, thisProgram } from "./owner.js"
import { createEntry } from "./owner-file.js"

const place = { host: "127.0.0.1", port: 8900, agentsPort: 8901, database: "embedded" } as const

const refusals = [
  {
    what: "a superstep dev is not taken over",
    command: "superstep dev",
    says: /superstep dev is running on .* \(process \d+\) and cannot be taken over/,
  },
  {
    what: "a superstep up with another database is not taken over",
    command: "superstep up",
    env: { DATABASE_URI: "postgres://127.0.0.1/elsewhere" },
    says: /the running installation uses another database: unset DATABASE_URI/,
  },
]

for (const { what, command, env = {}, says } of refusals) {
  test(what, async () => {
    const home = await openHome(join(temporaryFolder(), "home"))
    await using _ownership = await takeOwnership(home, command, { place })

    const { code, stderr } = await runCli(["up", "--take-over", "--home", home.folder], { cwd: temporaryFolder(), env })

    assert.equal(code, 1)
    assert.match(stderr, says)
    assert.equal(existsSync(`${home.owner}.next`), false)
  })
}

test("a second take-over is refused while one is under way (H1)", async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  await using _ownership = await takeOwnership(home, "superstep up", { place })
  await createEntry(`${home.owner}.next`, await thisProgram({ command: "superstep up" }))

  const { code, stderr } = await runCli(["up", "--take-over", "--home", home.folder], { cwd: temporaryFolder() })

  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`process ${process.pid} is already taking over .*: wait until it has started`))
  assert.equal(existsSync(`${home.owner}.next`), true)
})
