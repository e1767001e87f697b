import assert from "node:assert/strict"
import { test } from "node:test"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { ClaimLost } from "./fence.js"
import { retryWhileDatabaseIsAway } from "./retried-calls.js"

test("a call succeeds when the database is available again, and any other failure is thrown at once", async () => {
  const failures: Error[] = [new DatabaseUnavailable("it restarts"), new DatabaseUnavailable("it starts")]
  const calls = retryWhileDatabaseIsAway({
    "checkpoint.get": async () => {
      const failure = failures.shift()
      if (failure) throw failure
      return { fields: { saved: true } }
    },
    "checkpoint.ancestors": async () => {
      throw new ClaimLost("r1")
    },
  })

  const place = { thread_id: "t", checkpoint_ns: "" }

  const reply = await calls["checkpoint.get"]?.(place, [])

  assert.deepEqual(reply, { fields: { saved: true } })
  assert.deepEqual(failures, [])
  await assert.rejects(async () => calls["checkpoint.ancestors"]?.({ ...place, channels: [] }, []), ClaimLost)
})
