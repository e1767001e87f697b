/** The connection to the database is interrupted for longer than a lease, while Postgres keeps running (E1). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { postgresProxy } from "@superstep/toolkit/testing/postgres-proxy"
import { until } from "@superstep/toolkit/testing/until"
import { addRun, attemptOf, createRun, getRun, waitForEnd } from "../testing/as-anyone.js"
import { endLeases, whileLeasesAreOver } from "../testing/end-leases.js"
import { body } from "../testing/revisions.js"
import { occupyPool, serverDatabase, startTestServer, type TestServer } from "../testing/test-server.js"
import { findUnheldClaims, readQueueState, releaseRun } from "./claims.js"

const leaseMs = 6_000
// Renewed every second; a busy machine may renew it late.
const renewedSoonMs = 3_000
const maxGapMs = 100
// Longer than any of these tests, so every action on expired leases is too early.
const neverMs = 600_000

const addRuns = (server: TestServer, count: number) =>
  Promise.all(Array.from({ length: count }, () => createRun(server, { threadId: undefined, body: body() })))

const finish = (server: TestServer, run: { readonly run_id: string } | undefined) => {
  server.workers.running.get(run?.run_id ?? "")?.done()
  return waitForEnd(server, run?.run_id ?? "")
}

const serverBehind = (db: Database, uri: string, graceMs: number) =>
  startTestServer({ ...db, uri }, { leaseMs, graceMs, maxGapMs })

/** Expires leases as if the outage had lasted longer than a lease. The outage really lasts longer than `maxGapMs`. */
async function endLeasesDuringOutage(db: Database): Promise<void> {
  const cutAt = await db.row<{ now: string }>(sql`select now()::text as now`)
  const isLater = sql`select 1 where now() > ${cutAt?.now}::timestamptz + make_interval(secs => ${(2 * maxGapMs) / 1000})`
  await until(() => db.row(isLater), { what: "the outage has lasted" })
  await endLeases(db)
}

/** Waits until a server has renewed its lease. */
const untilRenewed = (db: Database, { claimer }: TestServer) =>
  until(() => db.row(sql`select from servers where server_id = ${claimer.serverId} and lease_until > now()`), {
    what: "its lease is renewed",
  })

/** When the first lease of a server is over, in milliseconds. */
const leaseUntil = async (db: Database) =>
  (await db.row<{ ms: number }>(sql`select extract(epoch from min(lease_until))::float8 * 1000 as ms from servers`))
    ?.ms ?? 0

const attemptsOf = (...servers: readonly TestServer[]) =>
  servers.map(({ workers }) => workers.started.map(({ order }) => order.attempt))

for (const how of ["reset", "silence"] as const) {
  test(`the first server that reaches the database after an outage takes no runs of other servers (${how})`, async () => {
    await using db = await serverDatabase()
    await using first = await postgresProxy(db.uri)
    await using second = await postgresProxy(db.uri)
    await using one = await serverBehind(db, first.uri, neverMs)
    await using two = await serverBehind(db, second.uri, neverMs)
    const runs = [...(await addRuns(one, 2)), ...(await addRuns(two, 2))]

    for (const proxy of [first, second]) proxy.cut(how)
    await endLeasesDuringOutage(db)
    first.heal()
    await untilRenewed(db, one)
    second.heal()
    await untilRenewed(db, two)
    for (const { workers } of [one, two]) for (const run of workers.running.values()) run.done()
    for (const { run_id } of runs) await waitForEnd(one, run_id)

    assert.deepEqual(attemptsOf(one, two), [
      [1, 1],
      [1, 1],
    ])
  })

  test(`after an outage a server takes back none of its own runs, running or ended (${how})`, async () => {
    await using db = await serverDatabase()
    await using proxy = await postgresProxy(db.uri)
    // This server acts on expired leases whenever it can.
    await using server = await serverBehind(db, proxy.uri, 0)
    const [ended, other] = await addRuns(server, 2)

    proxy.cut(how)
    server.workers.running.get(ended?.run_id ?? "")?.done()
    await endLeasesDuringOutage(db)
    proxy.heal()
    await waitForEnd(server, ended?.run_id ?? "")
    await untilRenewed(db, server)
    await finish(server, other)

    assert.deepEqual(attemptsOf(server), [[1, 1]])
  })
}

test("the end of a second attempt waits for the database, and is not executed again", async () => {
  await using db = await serverDatabase()
  await using proxy = await postgresProxy(db.uri)
  await using server = await serverBehind(db, proxy.uri, neverMs)
  const { threadId, runId } = await addRun(server)
  server.workers.running.get(runId)?.die()
  const second = await attemptOf(server, runId, 2)

  const lost = proxy.aim({ kind: "lose reply", at: /has_applied_input/ })
  second.done()
  await lost.hit
  const isDecided = async () =>
    server.workers.started.length > 2 || (await getRun(server, { threadId, runId })).status !== "running"
  await until(isDecided, { what: "the run is over, or executes again" })

  assert.deepEqual(attemptsOf(server), [[1, 2]])
  assert.equal((await getRun(server, { threadId, runId })).status, "success")
})

test("runs go on when the host of the database vanishes without a word and another one takes its address", {
  timeout: 60_000,
}, async () => {
  await using db = await serverDatabase()
  await using proxy = await postgresProxy(db.uri)
  const options = { leaseMs, graceMs: neverMs, statementMs: 1000 }
  await using server = await startTestServer({ ...db, uri: proxy.uri }, options)
  const runs = await addRuns(server, 3)

  proxy.cut("vanish")
  for (const { run_id } of runs) server.workers.running.get(run_id)?.done()
  for (const { run_id } of runs) await waitForEnd(server, run_id)
  const [later] = await addRuns(server, 1)
  await finish(server, later)

  assert.deepEqual(attemptsOf(server), [[1, 1, 1, 1]])
})

test("a server whose last run cannot be ended yet renews its lease until it is", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db, { leaseMs: renewedSoonMs })
  const [run] = await addRuns(server, 1)

  const before = await db.transaction(async (tx) => {
    // Writing a run's end locks its thread first; a renewal does not.
    await tx.run(sql`select from threads where thread_id = ${run?.thread_id} for update`)
    server.workers.started[0]?.done()
    const held = await leaseUntil(db)
    await until(async () => (await leaseUntil(db)) > held + renewedSoonMs / 2, { what: "the lease is renewed" })
    return db.row<{ status: string }>(sql`select status from runs where run_id = ${run?.run_id}`)
  })
  await waitForEnd(server, run?.run_id ?? "")

  assert.equal(before?.status, "running")
  assert.deepEqual(attemptsOf(server), [[1]])
})

test("a transaction that holds the rows of two runs costs no run its attempt, and delays no other one (K10)", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db, { leaseMs: renewedSoonMs })
  const [locked, alone, other] = await addRuns(server, 3)
  const statusOf = async (run: { run_id: string } | undefined) =>
    (await db.row<{ status: string }>(sql`select status from runs where run_id = ${run?.run_id}`))?.status

  await db.transaction(async (tx) => {
    await tx.run(sql`select from runs where run_id in (${locked?.run_id}, ${alone?.run_id}) order by run_id for update`)
    const held = await leaseUntil(db)
    await until(async () => (await leaseUntil(db)) > held + renewedSoonMs, { what: "the lease is renewed" })
    // One is a batch by itself, and two are in the next one.
    server.workers.running.get(alone?.run_id ?? "")?.done()
    await new Promise((resolve) => setImmediate(resolve))
    for (const run of [locked, other]) server.workers.running.get(run?.run_id ?? "")?.done()
    await waitForEnd(server, other?.run_id ?? "")
    const [later] = await addRuns(server, 1)
    await finish(server, later)
    assert.deepEqual([await statusOf(locked), await statusOf(alone)], ["running", "running"])
  })
  for (const run of [locked, alone]) await waitForEnd(server, run?.run_id ?? "")

  assert.deepEqual(attemptsOf(server), [[1, 1, 1, 1]])
})

test("slow statements that occupy the whole pool cost no run its lease", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db, { leaseMs: renewedSoonMs })
  await addRuns(server, 1)
  const release = await occupyPool(server)
  const held = await leaseUntil(db)
  await until(async () => (await leaseUntil(db)) > held + renewedSoonMs / 2, { what: "the lease is renewed" })
  await release()

  assert.deepEqual(attemptsOf(server), [[1]])
})

test("a release of expired claims that arrives too late changes nothing", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db, { leaseMs, sweepMs: neverMs })
  const [run] = await addRuns(server, 1)
  await whileLeasesAreOver(db, async (tx) => {
    const { nowMs } = await readQueueState(tx)
    const claimId = server.workers.started[0]?.order.claimId ?? ""
    const release = { runId: run?.run_id ?? "", claimId, ending: "lease_ended", watcher: undefined } as const

    const [late, inTime] = [nowMs - 1, nowMs + 60_000]
    const all = { serverId: randomUUID(), heldHere: [], untilMs: inTime }
    const found = [await findUnheldClaims(tx, { ...all, untilMs: late }), await findUnheldClaims(tx, all)]
    const held = await findUnheldClaims(tx, { ...all, heldHere: [claimId] })
    const lateRelease = await releaseRun(tx, { ...release, untilMs: late }, "{}")
    const { outcome } = await releaseRun(tx, { ...release, untilMs: inTime }, "{}")

    const counts = [...found, held].map((claims) => claims.length)
    assert.deepEqual(counts, [0, 1, 0])
    assert.deepEqual([lateRelease.outcome, outcome], ["claim_lost", "waiting"])
  })
})

test("a claim is held while the lease of its server is, also against a server that asks only for the claim's own time", async () => {
  await using db = await serverDatabase()
  await using server = await startTestServer(db, { sweepMs: neverMs })
  const [run] = await addRuns(server, 1)
  const claimId = server.workers.started[0]?.order.claimId ?? ""
  const release = { runId: run?.run_id ?? "", claimId, ending: "lease_ended", watcher: undefined } as const
  const another = { serverId: randomUUID(), heldHere: [], untilMs: Number.POSITIVE_INFINITY }
  await server.executor.renew()

  await db.run(sql`update runs set lease_until = now() - interval '1 minute'`)
  const found = await findUnheldClaims(db, another)
  // As a server of the release before, which has found the claim by its own time.
  const released = await releaseRun(db, release, "{}")
  const own = await findUnheldClaims(db, { ...another, serverId: server.claimer.serverId })
  const foundLater = await whileLeasesAreOver(db, (tx) => findUnheldClaims(tx, another))

  assert.deepEqual([found, released.outcome], [[], "claim_lost"])
  const endings = [own, foundLater].map(([claim]) => claim?.ending)
  assert.deepEqual(endings, ["abandoned", "lease_ended"])
})
