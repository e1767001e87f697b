/** Histories in simulated time: the same one each time, and one that the commit chooses. `npm run simulate` takes many. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { ownTheTime } from "@superstep/toolkit/testing/simulation/simulated-database"
import { openSession } from "@superstep/toolkit/testing/simulation/simulated-session"
import { abort } from "../../deployments/traffic.js"
import { migrations } from "../api.js"
import { keepLockOrder } from "../lock-order.js"
import { addDeployment, deploy } from "./clients.js"
import { simulate } from "./simulate.js"
import { World } from "./world.js"

test("whatever fails meanwhile, each deployment comes to what is wanted of it, and no step on the way does harm", async (t) => {
  await using database = await freshDatabase({ migrations })
  await ownTheTime(database)
  await keepLockOrder(database)
  await using session = await openSession(database.uri)

  const seed = seedOfCommit()
  const { broken } = await simulate(session, seed)
  t.diagnostic(`seed ${seed}`)
  assert.deepEqual(broken, [], `npm run simulate -- --seeds 1 --from ${seed} --verbose`)
})

// Seed 80126 did so; a change of any statement changes what a seed does.
test("a canary that is aborted between the death of its pipeline and its switch's second try keeps the reason", async () => {
  await using database = await freshDatabase({ migrations })
  await ownTheTime(database)
  await using session = await openSession(database.uri)
  const world = new World(1, session, () => undefined)
  world.faults.areOn = false
  const client = await addDeployment(world)
  const deployed = async (weight: number | null) => {
    await deploy(world, client, { trigger: "patch", weight })
    // Its units are in good order.
    world.tempers.clear()
  }
  const latest = () =>
    world.db.row<{ revision_id: string; status: string; stage: string; error_code: string; status_message: string }>(
      sql`select revision_id, status, stage, error_code, status_message from revisions order by seq desc limit 1`,
    )
  await deployed(null)
  void world.startControlPlane()
  await world.clock.pass(120_000)
  let isKilled = false
  world.onPoint = (name) => {
    if (name !== "switch:after-canary" || isKilled) return
    isKilled = true
    void world.startControlPlane()
  }

  await deployed(20)
  for (let looks = 0; !isKilled && looks < 600; looks++) await world.clock.pass(100)
  const { revision_id: revisionId = "" } = (await latest()) ?? {}
  await world.db.transaction((tx) => abort(tx, { ...client, revisionId }))
  await world.clock.pass(120_000)

  const { status, stage, error_code, status_message = "" } = (await latest()) ?? {}
  assert.deepEqual({ status, stage, error_code }, { status: "DEPLOYED", stage: null, error_code: "canary_aborted" })
  assert.match(status_message, /aborted on request/)
  world.end()
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
