/** Two installations in one process: what the other one reports, and what readers of the API make of it. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { credentialsOf } from "../integrations/operations.js"
import { appendLogLines } from "../logs/operations.js"
import { watchedBranch } from "../pushes/queries.js"
import {
  createToken,
  deployTo,
  endAt,
  readyState,
  reportedRevision,
  twoInstallations,
} from "./testing/two-installations.js"

test("an integration's credentials follow, and only the control plane reports to the host of the repository", async () => {
  await using two = await twoInstallations()
  const { central, remote, listenerId } = two
  const integration = await central.integrate("hub", "token-for-hub")
  const made = await deployTo(central, listenerId, "far", { integration_id: integration.id })
  const { work, reports } = two.follow()
  await work.next()
  await endAt(two, made.latest_revision_id, "DEPLOYED")
  await reports.send()

  const ids = { workspaceId: central.workspaceId, integrationId: integration.id as string }
  const credentials = await credentialsOf(remote.db, remote.key, ids)
  const due = (api: typeof central) => api.db.rows(sql`select wanted from commit_statuses`)
  assert.equal(credentials.kind === "token" && credentials.token.reveal(), "token-for-hub")
  assert.deepEqual([await due(central), await due(remote)], [[{ wanted: "success" }], []])
})

test("reports reach the API: status, messages, address and log lines, each line once (L6)", async () => {
  await using two = await twoInstallations()
  const { central, remote } = two
  const made = await deployTo(central, two.listenerId, "far")
  const { work, reports } = two.follow()
  await work.next()
  const path = `/v2/deployments/${made.id}`
  const before = await central.call("GET", path)
  const line = (text: string) => appendLogLines(remote.db, made.latest_revision_id, "build", [text])

  await line("installing")
  await reports.send()
  await line("building")
  reports.noteLines(made.id)
  await reports.send()
  await endAt(two, made.latest_revision_id, "DEPLOYED")
  // Another process, which remembers nothing.
  const second = two.follow()
  await second.reports.send()
  await second.reports.send()

  const seen = await central.call("GET", path)
  const revision = await central.call("GET", `${path}/revisions/${made.latest_revision_id}`)
  const lines = await central.db.rows<{ message: string }>(sql`select message from log_lines order by log_line_id`)
  assert.equal(before.body.source_config.custom_url, null)
  assert.equal(seen.body.source_config.custom_url, "http://far.test:8901/d/far")
  assert.deepEqual([seen.body.status, seen.body.active_revision_id], ["READY", made.latest_revision_id])
  assert.deepEqual([revision.body.status, revision.body.source_revision_config.repo_commit_sha], ["DEPLOYED", "abc"])
  assert.deepEqual(fieldsOf(lines, "message"), ["installing", "building"])
})

test("lines of a listener count for the quota of logs, as any others", async () => {
  await using two = await twoInstallations({ logQuotaBytes: 20_000 })
  const { central, remote } = two
  const made = await deployTo(central, two.listenerId, "far")
  const { work, reports } = two.follow()
  await work.next()
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n} ${"x".repeat(1000)}`)
  await appendLogLines(remote.db, made.latest_revision_id, "deploy", lines)

  await reports.send()

  const kept = await central.db.rows<{ message: string }>(sql`select message from log_lines order by log_line_id`)
  assert.match(kept.at(-1)?.message ?? "", /lines dropped: the oldest ones/)
  assert.ok(kept.length < 30, `${kept.length} lines`)
})

test("a report that comes twice or late changes nothing (L6)", async () => {
  await using two = await twoInstallations()
  const { central } = two
  const made = await deployTo(central, two.listenerId, "far")
  const { calls } = two.follow()
  const report = (after: number, status: "BUILDING" | "DEPLOYED", stage: "build" | null) => {
    const revisions = [reportedRevision(made.latest_revision_id, status, stage)]
    return calls.report({ deployment_id: made.id, after, state: { ...readyState, revisions }, lines: [] })
  }

  const first = await report(0, "BUILDING", "build")
  const second = await report(1, "DEPLOYED", null)
  const late = await report(0, "BUILDING", "build")

  assert.deepEqual([first.is_accepted, second.is_accepted, late.is_accepted, late.reports], [true, true, false, 2])
  const revision = await central.call("GET", `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`)
  assert.equal(revision.body.status, "DEPLOYED")
})

test("the commit that a listener found at the branch is known to polling, unless a webhook came after the revision was asked for (H5)", async () => {
  await using two = await twoInstallations()
  const { db } = two.central
  const made = await deployTo(two.central, two.listenerId, "far")
  const { calls } = two.follow()
  const knownAfter = async (after: number, commit_sha: string) => {
    const revisions = [{ ...reportedRevision(made.latest_revision_id, "BUILDING", "build"), commit_sha }]
    await calls.report({ deployment_id: made.id, after, state: { ...readyState, revisions }, lines: [] })
    return (await watchedBranch(db, made.id))?.sha
  }

  const found = await knownAfter(0, "abc")
  await db.run(sql`update revisions set commit_sha = null`)
  await db.run(sql`update watched_branches set webhook_at = now()`)
  const foundEarlier = await knownAfter(1, "old")

  assert.deepEqual([found, foundEarlier], ["abc", "abc"])
})

test("a revision says in words that its listener never called, or is silent, and the deployment is UNKNOWN then (L4)", async () => {
  await using two = await twoInstallations()
  const { central } = two
  const made = await deployTo(central, two.listenerId, "far")
  const path = `/v2/deployments/${made.id}`
  const message = async () =>
    (await central.call("GET", `${path}/revisions/${made.latest_revision_id}`)).body.status_message as string

  const never = await message()
  const { work, reports } = two.follow()
  await work.next()
  const called = await message()
  await endAt(two, made.latest_revision_id, "DEPLOYED")
  await reports.send()
  const second = await central.call("PATCH", path, { body: { source_revision_config: { repo_ref: "next" } } })
  await central.db.run(sql`update listeners set last_seen_at = now() - interval '3 minutes'`)
  const deployment = await central.call("GET", path)
  const revision = await central.call("GET", `${path}/revisions/${second.body.latest_revision_id}`)

  assert.match(never, /^its listener far has never called: start an installation with SUPERSTEP_LISTENER_URL/)
  assert.equal(called, null)
  assert.deepEqual([deployment.body.status, deployment.body.health], ["UNKNOWN", null])
  assert.match(revision.body.status_message, /^its listener far has not called since 20.+Z: check that/)
})

test("an installation that is set up again gets the revision that served, at its commit, and its reports count from then on", async () => {
  await using two = await twoInstallations()
  const { central, remote } = two
  const made = await deployTo(central, two.listenerId, "far")
  const former = two.follow()
  await former.work.next()
  await endAt(two, made.latest_revision_id, "DEPLOYED")
  await appendLogLines(remote.db, made.latest_revision_id, "deploy", ["one", "two", "three"])
  await former.reports.send()
  await remote.db.transaction(async (tx) => {
    await tx.run(sql`delete from mirrored_deployments`)
    await tx.run(sql`update deployments set latest_revision_id = null, active_revision_id = null`)
    await tx.run(sql`delete from deployments`)
    await tx.run(sql`alter table log_lines alter column log_line_id restart with 1`)
  })
  const { token } = await createToken(central, two.listenerId)

  const { work, reports } = two.follow(token, "home-2", "http://new.test:8901")
  await work.next()
  const again = await remote.db.row<{ source_revision_config: { repo_commit_sha: string } }>(sql`
    select source_revision_config from revisions where revision_id = ${made.latest_revision_id}`)
  await appendLogLines(remote.db, made.latest_revision_id, "deploy", ["anew"])
  await reports.send()
  const address = async () =>
    (await central.call("GET", `/v2/deployments/${made.id}`)).body.source_config.custom_url as string
  const before = await address()
  await endAt(two, made.latest_revision_id, "DEPLOYED")
  reports.noteLines(made.id)
  await reports.send()

  const lines = await central.db.rows<{ message: string }>(sql`select message from log_lines order by log_line_id`)
  assert.equal(again?.source_revision_config.repo_commit_sha, "abc")
  assert.deepEqual([before, await address()], ["http://far.test:8901/d/far", "http://new.test:8901/d/far"])
  assert.deepEqual(fieldsOf(lines, "message"), ["one", "two", "three", "anew"])
})
