/** Claims are shared fairly between workspaces (C5). */

import assert from "node:assert/strict"
import test from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { storeQuotas } from "../quotas/queries.js"
import { migrations } from "../testing/api.js"
import { claimedBuilds, claimNextRevision, noteWaiting, type OpenStages } from "./claims.js"
import { type Stage, stages, type Trigger } from "./revision.js"
import { addDeployment, addRevision, addWorkspace } from "./testing/rows.js"

const database = () => freshDatabase({ migrations })

const everything: OpenStages = { all: stages, reserved: stages }
const claim = (db: Database, it: { open?: OpenStages; builds?: number; owner?: string } = {}) =>
  claimNextRevision(db, { owner: "home/1", leaseMs: 30_000, open: everything, builds: 100, ...it })

/** Revisions of as many deployments of a workspace, which wait for a stage. */
async function waiting(
  db: Database,
  workspaceId: string,
  stage: Stage,
  triggers: readonly Trigger[],
): Promise<string[]> {
  const ids: string[] = []
  for (const trigger of triggers) {
    const deploymentId = await addDeployment(db, workspaceId)
    ids.push(await addRevision(db, deploymentId, { stage, trigger, status: "AWAITING_BUILD" }))
  }
  return ids
}

const pushes = (count: number): Trigger[] => Array(count).fill("push")

test("a workspace gets no more fetches and builds than its quota, whatever else it does meanwhile (C5)", async () => {
  await using db = await database()
  const [small, usual] = [await addWorkspace(db), await addWorkspace(db)]
  const unset = { deployments: null, units: null, memory_mb: null, cpu: null, disk_mb: null, host_names: null }
  await storeQuotas(db, small, { ...unset, builds: 1 })
  for (const workspaceId of [small, usual]) {
    await waiting(db, workspaceId, "fetch", pushes(3))
    await waiting(db, workspaceId, "build", pushes(3))
    await waiting(db, workspaceId, "deploy", pushes(2))
  }

  let claims = 0
  while (await claim(db, { builds: 2 })) claims++

  assert.deepEqual([await claimedBuilds(db, small), await claimedBuilds(db, usual)], [1, 2])
  assert.equal(claims, 1 + 2 + 2 * 2)
})

test("processes that claim at the same moment do not exceed the quota together (C5)", async () => {
  await using db = await database()
  const workspaceId = await addWorkspace(db)
  await waiting(db, workspaceId, "fetch", pushes(12))

  await Promise.all(Array.from({ length: 12 }, (_, index) => claim(db, { builds: 3, owner: `home-${index}/1` })))

  assert.equal(await claimedBuilds(db, workspaceId), 3)
})

test("of a stage with one place, workspaces take turns, however many revisions each has waiting (C5)", async () => {
  await using db = await database()
  const [many, few] = [await addWorkspace(db), await addWorkspace(db)]
  const ofMany = await waiting(db, many, "build", pushes(4))
  const ofFew = await waiting(db, few, "build", pushes(2))

  const order: string[] = []
  for (;;) {
    const claimed = await claim(db)
    if (!claimed) break
    order.push(ofFew.includes(claimed.revision_id) ? "few" : "many")
    // It ends before the next one is claimed.
    await db.run(sql`update revisions set stage = null, lease_owner = null where revision_id = ${claimed.revision_id}`)
  }

  assert.deepEqual(order, ["many", "few", "many", "few", "many", "many"])
  assert.equal(order.length, ofMany.length + ofFew.length)
})

test("a full stage is open only to workspaces that have nothing in it (C5)", async () => {
  await using db = await database()
  const [greedy, late] = [await addWorkspace(db), await addWorkspace(db)]
  await waiting(db, greedy, "fetch", pushes(9))
  for (let count = 0; count < 8; count++) await claim(db)
  const [ofLate] = await waiting(db, late, "fetch", pushes(2))
  const full = { all: stages.filter((it) => it !== "fetch"), reserved: stages }

  const first = await claim(db, { open: full })
  const second = await claim(db, { open: full })

  assert.deepEqual([first?.revision_id, second], [ofLate, undefined])
})

test("the workspace with the fewest claims in a stage goes first (C5)", async () => {
  await using db = await database()
  const [greedy, modest] = [await addWorkspace(db), await addWorkspace(db)]
  await waiting(db, greedy, "fetch", pushes(2))
  await claim(db)
  await claim(db)
  const [ofModest, secondOfModest] = await waiting(db, modest, "fetch", pushes(2))
  const [ofGreedy] = await waiting(db, greedy, "fetch", pushes(1))

  const order = [await claim(db), await claim(db), await claim(db)].map((it) => it?.revision_id)

  assert.deepEqual(order, [ofModest, secondOfModest, ofGreedy])
})

test("within a workspace a rollback goes first, then what has waited longest", async () => {
  await using db = await database()
  const workspaceId = await addWorkspace(db)
  const [older, newer, rollback] = await waiting(db, workspaceId, "queue", ["push", "push", "rollback"])
  await db.run(sql`update revisions set not_before = now() - interval '1 minute' where revision_id = ${older ?? ""}`)

  const order = [await claim(db), await claim(db), await claim(db)].map((it) => it?.revision_id)

  assert.deepEqual(order, [rollback, older, newer])
})

const messagesOf = async (db: Database, ids: readonly string[]) => {
  const rows = await db.rows<{ revision_id: string; status_message: string | null }>(
    sql`select revision_id, status_message from revisions where revision_id = any(${ids})`,
  )
  return ids.map((id) => rows.find(({ revision_id }) => revision_id === id)?.status_message)
}

test("a revision that waits for the quota of its workspace says so until it is claimed (C5)", async () => {
  await using db = await database()
  const workspaceId = await addWorkspace(db)
  const [first = "", second = ""] = await waiting(db, workspaceId, "fetch", pushes(2))
  await waiting(db, await addWorkspace(db), "deploy", pushes(1))
  await claim(db, { builds: 1 })
  await claim(db, { builds: 1 })

  const noted = await noteWaiting(db, { open: everything, builds: 1 })

  assert.equal(noted, 1)
  const [none, why] = await messagesOf(db, [first, second])
  assert.equal(none, null)
  assert.equal(why, 'waits for other builds of its workspace: 1 in progress, and its quota "builds" is 1')
  assert.equal(await noteWaiting(db, { open: everything, builds: 1 }), 0, "an unchanged reason is not written again")
  await db.run(sql`update revisions set stage = null, lease_owner = null where revision_id = ${first}`)
  assert.equal((await claim(db, { builds: 1 }))?.status_message, null)
})

test("a revision that waits for a place in a full stage says so, and the reason of a retry stays (C5)", async () => {
  await using db = await database()
  const workspaceId = await addWorkspace(db)
  const [running = "", queued = "", retried = ""] = await waiting(db, workspaceId, "build", pushes(3))
  await claim(db)
  await db.run(
    sql`update revisions set stage_attempt = 1, status_message = 'no route; trying again in 5 s' where revision_id = ${retried}`,
  )
  const full: OpenStages = { all: stages.filter((it) => it !== "build"), reserved: stages }

  assert.equal(await claim(db, { open: full }), undefined)
  await noteWaiting(db, { open: full, builds: 100 })

  assert.deepEqual(await messagesOf(db, [running, queued, retried]), [
    null,
    'waits for its turn: the platform works on 1 revisions in the stage "build", and has no room for more',
    "no route; trying again in 5 s",
  ])
})
