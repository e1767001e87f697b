import assert from "node:assert/strict"
import { test } from "node:test"
import { commandsFor, commandTable, versionFlags } from "./command-table.js"

test("each word selects the commands that start with it, and an unknown word selects all", async () => {
  const all = await commandsFor("--help")

  const found = await Promise.all(
    Object.keys(commandTable).map(async (word) => [word, await commandsFor(word)] as const),
  )

  for (const [word, commands] of found) {
    assert.ok(commands.length > 0, word)
    for (const { words } of commands) assert.equal(words.split(" ")[0], word)
  }
  assert.deepEqual(
    found.flatMap(([, commands]) => commands),
    all,
  )
})

test("the version loads no command", async () => {
  for (const flag of versionFlags.split(", ")) assert.deepEqual(await commandsFor(flag), [])
})
