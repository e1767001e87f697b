import assert from "node:assert/strict"
import { test } from "node:test"
import { silent as log } from "../testing/test-cluster.js"
import { DatabaseUnavailable } from "./unavailable.js"
import { untilReachable } from "./until-reachable.js"

const refused = () => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })

test("a starting database is waited for, and one that never answers is an error", async () => {
  let tries = 0
  const work = async () => {
    tries++
    if (tries < 3) throw refused()
    return "done"
  }

  assert.equal(await untilReachable(work, { forMs: 60_000, log }), "done")
  assert.equal(tries, 3)
  await assert.rejects(
    untilReachable(() => Promise.reject(refused()), { forMs: 0, log }),
    DatabaseUnavailable,
  )
})
