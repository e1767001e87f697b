/** The bounded form of `npm run soak -- --outage 30`, in CI, as chaos/postgres-away.wide.test.ts. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { hasProc } from "../testing/process-memory.js"
import { outage } from "./outage.js"

const skip =
  (process.env.SUPERSTEP_WIDE_TESTS !== "1" && "it takes a minute: SUPERSTEP_WIDE_TESTS=1 runs it") ||
  (!hasProc && "the sessions of a killed Postgres are found in /proc")

test("Postgres is killed and comes back: nothing acknowledged is lost, and requests meanwhile are told to wait", {
  skip,
}, async (t) => {
  const problems = await outage({ seconds: 5, say: (line) => t.diagnostic(line) })

  assert.deepEqual(problems, [])
})
