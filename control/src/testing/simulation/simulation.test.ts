/** Some histories in simulated time: the same ones each time, and one that the commit chooses. `npm run simulate` takes many. */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { ownTheTime } from "@superstep/toolkit/testing/simulation/simulated-database"
import { openSession } from "@superstep/toolkit/testing/simulation/simulated-session"
import { migrations } from "../api.js"
import { simulate } from "./simulate.js"

test("whatever fails meanwhile, each deployment comes to what is wanted of it, and no step on the way does harm", async (t) => {
  await using database = await freshDatabase({ migrations })
  await ownTheTime(database)
  await using session = await openSession(database.uri)

  // In 80126 a canary is aborted between the death of its pipeline and its switch's second try.
  for (const seed of [3, 80126, seedOfCommit()]) {
    const { broken } = await simulate(session, seed)
    t.diagnostic(`seed ${seed}`)
    assert.deepEqual(broken, [], `npm run simulate -- --seeds 1 --from ${seed} --verbose`)
  }
})

test("a seed gives the same history each time", async () => {
  await using database = await freshDatabase({ migrations })
  await ownTheTime(database)
  await using session = await openSession(database.uri)
  const [first, second]: [string[], string[]] = [[], []]

  const { broken } = await simulate(session, 1, (line) => first.push(line))
  await simulate(session, 1, (line) => second.push(line))

  assert.deepEqual(broken, [], "npm run simulate -- --seeds 1 --from 1 --verbose")
  assert.deepEqual(first, second)
  assert.ok(first.length > 20)
})

test("Postgres replaces superstep_now() by now()", async () => {
  await using db = await freshDatabase({ migrations })

  const plan = await db.rows<{ "QUERY PLAN": string }>(sql`explain (verbose, costs off) select superstep_now()`)

  assert.match(JSON.stringify(plan), /Output: now\(\)/)
})

function seedOfCommit(): number {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" })
  return Number.parseInt(commit.slice(0, 7), 16)
}
