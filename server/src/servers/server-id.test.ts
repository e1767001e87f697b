import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { openDatabase } from "@superstep/toolkit/db/database"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { takeServerId } from "./server-id.js"

test("an id belongs to one running server; a second server gets another id, and the same id after the first has stopped", async () => {
  await using shared = await freshDatabase()
  const open = () => openDatabase({ uri: shared.uri, log })
  await using one = open()
  await using copy = open()
  await using next = open()
  const wanted = randomUUID()

  const first = await takeServerId(one, { wanted, log })
  const second = await takeServerId(copy, { wanted, timeoutMs: 0, log })
  await one.close()
  const third = await takeServerId(next, { wanted, log })

  assert.deepEqual([first, third], [wanted, wanted])
  assert.notEqual(second, wanted)
})
