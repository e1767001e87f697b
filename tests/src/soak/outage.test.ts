/** The bounded form of `npm run soak -- --outage 30`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { hasProc } from "../testing/process-memory.js"
import { outage } from "./outage.js"

test("Postgres is killed and comes back: nothing acknowledged is lost, and requests meanwhile are told to wait", {
  skip: !hasProc && "the sessions of a killed Postgres are found in /proc",
}, async (t) => {
  const problems = await outage({ seconds: 5, say: (line) => t.diagnostic(line) })

  assert.deepEqual(problems, [])
})
