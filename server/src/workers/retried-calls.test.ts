import assert from "node:assert/strict"
import { test } from "node:test"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { ClaimLost } from "./fence.js"
import { retryWhileDatabaseIsAway } from "./retried-calls.js"

test("a call succeeds when the database is available again, and any other failure is thrown at once", async () => {
  const failures: Error[] = [new DatabaseUnavailable("it restarts"), new DatabaseUnavailable("it starts")]
  const calls = retryWhileDatabaseIsAway({
    "checkpoint.put": async () => {
      const failure = failures.shift()
      if (failure) throw failure
      return { fields: { saved: true } }
    },
    "checkpoint.get": async () => {
      throw new ClaimLost("r1")
    },
  })

  const reply = await calls["checkpoint.put"]?.({}, [])

  assert.deepEqual(reply, { fields: { saved: true } })
  assert.deepEqual(failures, [])
  await assert.rejects(async () => calls["checkpoint.get"]?.({}, []), ClaimLost)
})
