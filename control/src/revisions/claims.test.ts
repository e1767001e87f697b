import assert from "node:assert/strict"
import test from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { migrations } from "../testing/api.js"
import {
  admitRevisions,
  advance,
  ClaimLost,
  claimNextRevision,
  freeExpiredClaims,
  freeFormerClaims,
  interruptRevision,
  nextTurnMs,
  noteWaiting,
  type OpenStages,
  recordCommit,
  releaseClaim,
  renewClaims,
  skipSuperseded,
  waitInStage,
} from "./claims.js"
import { shownMessage, stages } from "./revision.js"
import { addDeployment, addRevision } from "./testing/rows.js"

const database = () => freshDatabase({ migrations })

const revisionOf = async (db: Database, revisionId: string) => {
  const row = await db.row<Record<string, unknown>>(sql`select * from revisions where revision_id = ${revisionId}`)
  return row ?? {}
}

const everything: OpenStages = { all: stages, reserved: stages }
const room = { open: everything, builds: 100 }
const claim = (db: Database, owner = "home/1", leaseMs = 30_000) => claimNextRevision(db, { owner, leaseMs, ...room })

test("a revision is worked on by one process (C1)", async () => {
  await using db = await database()
  const revisionId = await addRevision(db, await addDeployment(db))

  const claims = await Promise.all(Array.from({ length: 8 }, (_, index) => claim(db, `home/${index}`)))

  assert.deepEqual(
    claims.filter((it) => it !== undefined).map((it) => it.revision_id),
    [revisionId],
  )
})

test("a deployment has one claim, on the oldest revision that has started, as the index enforces (C2)", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const older = await addRevision(db, deploymentId, { stage: "deploy", status: "AWAITING_DEPLOY" })
  const newer = await addRevision(db, deploymentId)
  const other = await addRevision(db, await addDeployment(db))

  const claimed = [await claim(db), await claim(db), await claim(db)].map((it) => it?.revision_id)
  assert.deepEqual(claimed.sort(), [older, other, undefined].sort())

  await db.run(
    sql`update revisions set stage = null, status = 'DEPLOYED', lease_owner = null where revision_id = ${older}`,
  )
  assert.equal((await claim(db))?.revision_id, newer)

  const same = await addDeployment(db)
  await addRevision(db, same, { stage: "deploy" })
  await addRevision(db, same, { stage: "deploy" })

  const both = db.run(sql`update revisions set lease_owner = 'home/1' where deployment_id = ${same}`)

  await assert.rejects(both, /revision_one_claim_of_a_deployment/)
})

test("a write with an old claim changes nothing (C3)", async () => {
  await using db = await database()
  await addRevision(db, await addDeployment(db))
  const slow = await claim(db, "home/1", 0)
  assert.ok(slow)
  assert.equal(await freeExpiredClaims(db), 1)
  const quick = await claim(db, "home/2")
  assert.ok(quick)

  await assert.rejects(advance(db, slow, { status: "AWAITING_BUILD", stage: "fetch" }), ClaimLost)
  await assert.rejects(waitInStage(db, slow, { delayMs: 1, isRetry: true, why: shownMessage("x") }), ClaimLost)
  assert.deepEqual(await renewClaims(db, [slow, quick], 1000), new Set([quick.revision_id]))
  await releaseClaim(db, slow)
  await advance(db, quick, { status: "AWAITING_BUILD", stage: "fetch" })

  const row = await revisionOf(db, quick.revision_id)
  assert.deepEqual(
    { status: row.status, stage: row.stage, owner: row.lease_owner, deaths: row.stage_deaths },
    { status: "AWAITING_BUILD", stage: "fetch", owner: null, deaths: 0 },
  )
})

test("a restarted process frees its former claims at once, and counts the death (C4)", async () => {
  await using db = await database()
  const own = await addRevision(db, await addDeployment(db))
  await claim(db, "home-a/1")
  const foreign = await addRevision(db, await addDeployment(db))
  await claim(db, "home-b/1")

  assert.equal(await freeFormerClaims(db, "home-a"), 1)

  assert.equal((await revisionOf(db, own)).stage_deaths, 1)
  assert.equal((await revisionOf(db, foreign)).lease_owner, "home-b/1")
})

test("revisions that have not started are skipped for the newest; started ones are not", async () => {
  await using db = await database()
  const [waiting, begun] = [await addDeployment(db), await addDeployment(db)]
  const created = await addRevision(db, waiting, { status: "CREATING" })
  const fetched = await addRevision(db, waiting, { status: "AWAITING_BUILD", stage: "build" })
  const newest = await addRevision(db, waiting)
  const building = await addRevision(db, begun, { status: "BUILDING", stage: "build" })
  await addRevision(db, begun)

  await admitRevisions(db)
  await skipSuperseded(db)

  for (const id of [created, fetched]) {
    const row = await revisionOf(db, id)
    assert.deepEqual([row.status, row.error_code, row.stage], ["SKIPPED", "superseded", null])
    assert.match(String(row.status_message), new RegExp(newest))
  }
  assert.equal((await revisionOf(db, newest)).status, "QUEUED")
  assert.equal((await revisionOf(db, building)).status, "BUILDING")
})

test("a rollback takes the claim of a running build", async () => {
  await using db = await database()
  const deploymentId = await addDeployment(db)
  const building = await addRevision(db, deploymentId, { status: "BUILDING", stage: "build" })
  const held = await claim(db)
  assert.equal(held?.revision_id, building)
  await addRevision(db, deploymentId, { trigger: "redeploy" })

  await skipSuperseded(db)

  assert.equal((await revisionOf(db, building)).status, "SKIPPED")
  assert.equal((await renewClaims(db, [held], 1000)).size, 0)
})

test("a delayed revision is not claimed before its time, which is reported", async () => {
  await using db = await database()
  await addRevision(db, await addDeployment(db))
  const held = await claim(db)
  assert.ok(held)
  await waitInStage(db, held, {
    delayMs: 60_000,
    isRetry: true,
    why: shownMessage("the network is away; trying again in 60 s"),
  })

  assert.equal(await claim(db), undefined)
  const due = await nextTurnMs(db, room)
  assert.ok(due !== undefined && due > 50_000 && due <= 60_000)
  const row = await revisionOf(db, held.revision_id)
  assert.deepEqual([row.stage_attempt, row.status_message], [1, "the network is away; trying again in 60 s"])
})

test("an interrupted revision loses its claim, but not after its switch", async () => {
  await using db = await database()
  const building = await addRevision(db, await addDeployment(db), { status: "BUILDING", stage: "build" })
  const held = await claim(db)
  assert.ok(held)
  const switched = await addRevision(db, await addDeployment(db), { status: "DEPLOYING", stage: "verify" })

  assert.equal(await interruptRevision(db, building), true)
  assert.equal(await interruptRevision(db, building), false)
  assert.equal(await interruptRevision(db, switched), false)

  await assert.rejects(advance(db, held, { status: "AWAITING_DEPLOY", stage: "deploy" }), ClaimLost)
  assert.equal((await revisionOf(db, building)).status, "INTERRUPTED")
})

test("a claim tells how often and how long its stage has failed, since the last wait that was no retry", async () => {
  await using db = await database()
  const revisionId = await addRevision(db, await addDeployment(db), { status: "DEPLOYING", stage: "verify" })
  const attempts: unknown[] = []
  const minutes: number[] = []

  for (const isRetry of [true, true, false, true, true]) {
    const claimed = await claim(db)
    assert.ok(claimed)
    minutes.push(Math.floor(claimed.failing_ms / 60_000))
    await waitInStage(db, claimed, { delayMs: 0, isRetry, why: null })
    attempts.push((await revisionOf(db, revisionId)).stage_attempt)
    await db.run(sql`
      update revisions set failing_since = failing_since - interval '7 minutes' where revision_id = ${revisionId}`)
  }

  assert.deepEqual(attempts, [1, 2, 0, 1, 2])
  assert.deepEqual(minutes, [0, 7, 14, 0, 7])
})

test("a revision is claimed while a row refers to it, and after a lock on it has ended", async () => {
  await using db = await database()
  const revisionId = await addRevision(db, await addDeployment(db))
  const whileLocked = (lock: Sql) =>
    db.transaction(async (tx) => {
      await tx.run(sql`select from revisions where revision_id = ${revisionId} ${lock}`)
      return [await claim(db), await nextTurnMs(db, room)]
    })

  const [whileChanged, turnMs] = await whileLocked(sql`for update`)
  const [whileReferred, turnMsOfOther] = await whileLocked(sql`for key share`)

  assert.deepEqual([whileChanged, turnMs], [undefined, 0])
  assert.ok(whileReferred)
  assert.equal(turnMsOfOther, undefined)
})

test("a locked revision holds up none of the statements about all of them (C6)", async () => {
  await using db = await database()
  const locked = [
    await addRevision(db, await addDeployment(db), { status: "CREATING" }),
    await addRevision(db, await addDeployment(db), { status: "BUILDING", stage: "build" }),
  ]
  const lapsed = await claim(db, "home/1", 0)
  const kept = await claim(db)
  assert.ok(lapsed && kept)
  const [deploymentId, another] = [await addDeployment(db), await addDeployment(db)]
  const old = await addRevision(db, deploymentId)
  const queued = await addRevision(db, deploymentId, { status: "CREATING" })
  const built = await addRevision(db, another, { status: "AWAITING_BUILD", stage: "build" })

  const done = await db.transaction(async (tx) => {
    await tx.run(sql`select from revisions where revision_id = any(${locked}::uuid[]) for update`)
    return [
      await freeExpiredClaims(db),
      await admitRevisions(db),
      await skipSuperseded(db),
      (await renewClaims(db, [kept], 30_000)).size,
      await noteWaiting(db, { open: { all: [], reserved: [] }, builds: 100 }),
    ]
  })

  assert.deepEqual(done, [0, 1, 1, 1, 2])
  assert.equal((await revisionOf(db, old)).status, "SKIPPED")
  assert.equal((await revisionOf(db, queued)).status, "QUEUED")
  assert.match(String((await revisionOf(db, built)).status_message), /waits for its turn/)
  assert.equal(await freeExpiredClaims(db), 1)
})

test("a stage keeps why a canary was aborted in it, whatever becomes of it, and its end no reason of a wait", async () => {
  await using db = await database()
  const switched = async (reason: Sql) => {
    const revisionId = await addRevision(db, await addDeployment(db))
    await db.run(sql`update revisions set ${reason} where revision_id = ${revisionId}`)
    const first = await claim(db)
    assert.ok(first)
    await waitInStage(db, first, { delayMs: 0, isRetry: true, why: shownMessage("trying again in 0 s") })
    const second = await claim(db)
    assert.ok(second)
    await advance(db, second, { status: "DEPLOYED", stage: null })
    const { error_code, status_message } = await revisionOf(db, revisionId)
    return [error_code, status_message]
  }

  const aborted = await switched(sql`error_code = 'canary_aborted', status_message = 'aborted on request'`)
  const waited = await switched(sql`status_message = 'waits for its turn'`)

  assert.deepEqual(aborted, ["canary_aborted", "aborted on request"])
  assert.deepEqual(waited, [null, null])
})

test("a failure, the reason of a wait and a commit are stored whatever their texts hold", async () => {
  await using db = await database()
  const revisionId = await addRevision(db, await addDeployment(db))
  const held = await claim(db)
  assert.ok(held)
  const text = "\0 \ud800"

  await recordCommit(db, held, {
    sha: "a",
    treeHash: null,
    commit: { sha: "a", message: shownMessage(text), author: shownMessage(text) },
  })
  await waitInStage(db, held, { delayMs: 0, isRetry: true, why: shownMessage(text + "x".repeat(1_000_000)) })
  const waiting = await revisionOf(db, revisionId)
  const again = await claim(db)
  assert.ok(again)
  await advance(db, again, {
    status: "BUILD_FAILED",
    stage: null,
    error: { code: "graph_load_failed", message: shownMessage(text + "x".repeat(1_000_000)) },
  })
  const failed = await revisionOf(db, revisionId)

  assert.deepEqual(waiting.commit, { sha: "a", message: "\\u0000 \ufffd", author: "\\u0000 \ufffd" })
  for (const message of [waiting, failed].map(({ status_message }) => String(status_message))) {
    assert.ok(message.startsWith("\\u0000 \ufffdx"))
    assert.ok(message.length < 11_000, "a message that quotes a megabyte is cut")
  }
})
