/** Two installations in one process: what the control plane wants, and what the other one makes of it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { credentialsOf } from "../integrations/operations.js"
import { appendLogLines } from "../logs/operations.js"
import { secretsOfVersion } from "../secrets/operations.js"
import { exampleDeployment } from "../testing/api.js"
import {
  createListener,
  createToken,
  deployTo,
  type TwoInstallations,
  twoInstallations,
} from "./testing/two-installations.js"

const revisionAt = async ({ remote }: TwoInstallations, revisionId: string) =>
  remote.db.row<{ status: string; seq: number; source_config: { listener_id: string | null } }>(sql`
    select status, seq, source_config from revisions where revision_id = ${revisionId}`)

/** As the pipeline of the other installation does. */
const endAt = ({ remote }: TwoInstallations, revisionId: string, status: string) =>
  remote.db.transaction(async (tx) => {
    await tx.run(sql`
      update revisions set status = ${status}, stage = null, commit_sha = 'abc', finished_at = now() where revision_id = ${revisionId}`)
    await tx.run(sql`
      update deployments d set status = 'READY',
        active_revision_id = case when ${status} = 'DEPLOYED' then ${revisionId}::uuid else active_revision_id end
      where d.deployment_id = (select deployment_id from revisions where revision_id = ${revisionId})`)
  })

test("a deployment is mirrored under its ids with its secrets and the hashes of its callers' keys (L5, L7)", async () => {
  await using two = await twoInstallations()
  const { central, remote, listenerId } = two
  const made = await deployTo(central, listenerId, "far")
  const { work } = two.follow()

  assert.equal(await work.next(), true)
  const there = await remote.db.row(sql`
    select name, workspace_id, listener_id from deployments where deployment_id = ${made.id}`)
  const owner = { workspaceId: central.workspaceId, deploymentId: made.id }
  const keys = await remote.db.rows<{ scopes: string[] }>(sql`
    select scopes from api_keys where workspace_id = ${central.workspaceId}`)
  const asClient = await remote.call("GET", "/v2/deployments", { headers: { "x-api-key": central.apiKey } })
  const create = await remote.call("POST", "/v2/deployments", {
    headers: { "x-api-key": central.apiKey },
    body: exampleDeployment("mine"),
  })

  assert.deepEqual(there, { name: "far", workspace_id: central.workspaceId, listener_id: null })
  assert.deepEqual(await secretsOfVersion(remote.db, remote.key, owner, 1), { MODEL_KEY: "sk-very-secret" })
  const revision = await revisionAt(two, made.latest_revision_id)
  assert.deepEqual([revision?.seq, revision?.source_config.listener_id], [1, null])
  assert.deepEqual(new Set(keys.flatMap(({ scopes }) => scopes)), new Set(["run"]))
  assert.deepEqual([asClient.status, create.status], [200, 403])
  assert.equal(
    (await remote.call("GET", "/v2/deployments")).body.resources.length,
    0,
    "the other installation's own workspace is not touched",
  )
})

test("what is mirrored twice is there once, in whatever order the process dies (L7)", async () => {
  await using two = await twoInstallations()
  const made = await deployTo(two.central, two.listenerId, "far")
  await two.follow().work.next()

  await two.remote.db.run(sql`update mirrored_deployments set version = 'lost'`)
  await two.follow().work.next()

  const rows = await two.remote.db.rows(sql`
    select r.revision_id, s.name from revisions r join secrets s using (deployment_id) where deployment_id = ${made.id}`)
  assert.deepEqual(rows, [{ revision_id: made.latest_revision_id, name: "MODEL_KEY" }])
})

test("an integration's credentials follow, and only the control plane reports to the host of the repository", async () => {
  await using two = await twoInstallations()
  const { central, remote, listenerId } = two
  const { body: integration } = await central.call("POST", "/v2/integrations/git", {
    body: { name: "hub", host: "github.com", token: "token-for-hub" },
  })
  const example = exampleDeployment("far")
  const { body: made } = await central.call("POST", "/v2/deployments", {
    body: {
      ...example,
      source_config: { ...example.source_config, listener_id: listenerId, integration_id: integration.id },
    },
  })
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
  assert.deepEqual(
    lines.map(({ message }) => message),
    ["installing", "building"],
  )
})

test("a report that comes twice or late changes nothing (L6)", async () => {
  await using two = await twoInstallations()
  const { central } = two
  const made = await deployTo(central, two.listenerId, "far")
  const { calls } = two.follow()
  const state = (status: "BUILDING" | "DEPLOYED", stage: "build" | null) => ({
    is_ready: true,
    url: null,
    active_revision_id: null,
    health: null,
    run_state: null,
    is_restarting: false,
    problem: null,
    is_gone: false,
    revisions: [
      {
        revision_id: made.latest_revision_id,
        status,
        stage,
        commit_sha: null,
        commit: null,
        stage_started_at: {},
        error_code: null,
        status_message: null,
        orphaned_threads: null,
        pinned_threads: 0,
        started_at: null,
        finished_at: null,
      },
    ],
  })
  const report = (after: number, it: ReturnType<typeof state>) =>
    calls.report({ deployment_id: made.id, after, state: it, lines: [] })

  const first = await report(0, state("BUILDING", "build"))
  const second = await report(1, state("DEPLOYED", null))
  const late = await report(0, state("BUILDING", "build"))

  assert.deepEqual([first.is_accepted, second.is_accepted, late.is_accepted, late.reports], [true, true, false, 2])
  const revision = await central.call("GET", `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`)
  assert.equal(revision.body.status, "DEPLOYED")
})

test("the central pipeline leaves a listener's revisions alone, and its health does not wait for them (L8)", async () => {
  await using two = await twoInstallations()
  const { central } = two
  const made = await deployTo(central, two.listenerId, "far")
  const { admitRevisions, claimNextRevision, skipSuperseded } = await import("../revisions/claims.js")
  await central.call("PATCH", `/v2/deployments/${made.id}`, { body: { source_revision_config: { repo_ref: "next" } } })
  await central.db.run(
    sql`update revisions set not_before = now() - interval '1 day', updated_at = now() - interval '1 day'`,
  )

  await admitRevisions(central.db)
  await skipSuperseded(central.db)
  const open = { all: ["queue" as const], reserved: [] }
  const claimed = await claimNextRevision(central.db, { owner: "x", leaseMs: 1000, open, builds: 10 })

  const statuses = await central.db.rows<{ status: string }>(sql`select status from revisions`)
  assert.equal(claimed, undefined)
  assert.deepEqual(new Set(statuses.map(({ status }) => status)), new Set(["CREATING"]))
  assert.equal((await central.call("GET", "/health")).status, 200)
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

test("an interruption reaches the other installation, and one that came too late shows how the revision ended", async () => {
  await using two = await twoInstallations()
  const { central } = two
  const made = await deployTo(central, two.listenerId, "far")
  const { work, reports } = two.follow()
  await work.next()
  const path = `/v2/deployments/${made.id}/revisions`
  const interrupt = (id: string) => central.call("POST", `${path}/${id}/interrupt`)
  const statusOf = async (id: string) => (await central.call("GET", `${path}/${id}`)).body.status

  const asked = await interrupt(made.latest_revision_id)
  await reports.send()
  const meanwhile = await statusOf(made.latest_revision_id)
  await work.next()
  const there = await revisionAt(two, made.latest_revision_id)
  const { body: next } = await central.call("PATCH", `/v2/deployments/${made.id}`, {
    body: { source_revision_config: { repo_ref: "next" } },
  })
  await work.next()
  await interrupt(next.latest_revision_id)
  await endAt(two, next.latest_revision_id, "DEPLOYED")
  await work.next()
  await reports.send()

  assert.ok(asked.status < 300, asked.text)
  assert.deepEqual([meanwhile, there?.status], ["INTERRUPTED", "INTERRUPTED"])
  assert.equal(await statusOf(next.latest_revision_id), "DEPLOYED")
})

test("what stands in the way in the other installation is said in words, and the deployment is mirrored once it is free", async () => {
  await using two = await twoInstallations()
  const { central, remote } = two
  const made = await deployTo(central, two.listenerId, "far")
  await two.follow().work.next()
  await remote.db.run(sql`update mirrored_deployments set version = ''`)
  await remote.db.run(sql`update deployments set workspace_id = ${remote.workspaceId}`)
  const { work, reports } = two.follow()

  const isDone = await work.next()
  await reports.send()
  const path = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`
  const stuck = await central.call("GET", path)
  await remote.db.run(sql`update deployments set workspace_id = ${central.workspaceId}`)
  const isDoneLater = await work.next()
  await reports.send()

  assert.deepEqual([isDone, isDoneLater], [false, true])
  assert.match(stuck.body.status_message, /its listener far cannot carry it out: .* belongs to another workspace/)
  assert.equal((await central.call("GET", path)).body.status_message, null)
})

test("an uploaded archive follows its revision, byte by byte, and only to its own listener", async () => {
  await using two = await twoInstallations()
  const { central, remote, listenerId, url } = two
  const other = await createListener(central, "elsewhere")
  const { body: made } = await central.call("POST", "/v2/deployments", {
    body: {
      name: "sent",
      source: "internal_source",
      source_config: { deployment_type: "dev", listener_id: listenerId },
      source_revision_config: {},
    },
  })
  const { body: offer } = await central.call("POST", `/v2/deployments/${made.id}/upload-url`)
  const bytes = Buffer.alloc(1_200_000, "archive ")
  const uploaded = await fetch(offer.upload_url.replace(/^https?:\/\/[^/]+/, url), { method: "PUT", body: bytes })
  assert.equal(uploaded.status, 200, await uploaded.text())
  await central.call("PATCH", `/v2/deployments/${made.id}`, {
    body: {
      source_revision_config: { source_tarball_path: offer.object_path, langgraph_config_path: "langgraph.json" },
    },
  })

  const done = await two.follow().work.next()
  const stored = await remote.db.row<{ bytes: Buffer }>(sql`
    select string_agg(bytes, ''::bytea order by number) as bytes from upload_pieces join uploads using (upload_id, transfer_id)`)
  const revisions = await remote.db.rows(sql`select from revisions where deployment_id = ${made.id}`)
  const uploadId = offer.object_path.slice(37, 73)

  assert.equal(done, true)
  assert.ok(stored?.bytes.equals(bytes))
  assert.equal(revisions.length, 1)
  await assert.rejects(two.follow(other.token).calls.archive(uploadId), /404/)
})

test("a deployment that is deleted goes there first, and then here; force does not wait for the listener", async () => {
  await using two = await twoInstallations()
  const { central, remote } = two
  const { isHeldByListener } = await import("./report-queries.js")
  const made = await deployTo(central, two.listenerId, "far")
  const { work, reports } = two.follow()
  await work.next()

  await central.call("DELETE", `/v2/deployments/${made.id}`)
  await work.next()
  const marked = await remote.db.row<{ is: boolean }>(sql`
    select delete_requested_at is not null as is from deployments where deployment_id = ${made.id}`)
  await reports.send()
  const heldWhileThere = await isHeldByListener(central.db, made.id)
  await remote.db.transaction(async (tx) => {
    await tx.run(sql`update deployments set latest_revision_id = null where deployment_id = ${made.id}`)
    await tx.run(sql`delete from deployments where deployment_id = ${made.id}`)
  })
  await reports.send()
  const heldWhenGone = await isHeldByListener(central.db, made.id)
  const lost = await deployTo(central, two.listenerId, "lost")
  await central.call("DELETE", `/v2/deployments/${lost.id}`)
  const heldWithoutForce = await isHeldByListener(central.db, lost.id)
  await central.call("DELETE", `/v2/deployments/${lost.id}?force=true`)

  assert.equal(marked?.is, true)
  assert.deepEqual([heldWhileThere, heldWhenGone, heldWithoutForce], [true, false, true])
  assert.equal(await isHeldByListener(central.db, lost.id), false)
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

  const { work, reports } = two.follow(token, "home-2")
  await work.next()
  const again = await remote.db.row<{ source_revision_config: { repo_commit_sha: string } }>(sql`
    select source_revision_config from revisions where revision_id = ${made.latest_revision_id}`)
  await appendLogLines(remote.db, made.latest_revision_id, "deploy", ["anew"])
  await reports.send()

  const lines = await central.db.rows<{ message: string }>(sql`select message from log_lines order by log_line_id`)
  assert.equal(again?.source_revision_config.repo_commit_sha, "abc")
  assert.deepEqual(
    lines.map(({ message }) => message),
    ["one", "two", "three", "anew"],
  )
})

test("the control plane itself cannot be its own listener", async () => {
  await using two = await twoInstallations()
  const { Work } = await import("./mirror/work-loop.js")
  const { createLog } = await import("@superstep/toolkit/log/log")
  const { db, key } = two.central
  const log = createLog({ process: "control", level: "silent" })
  await deployTo(two.central, two.listenerId, "far")

  const work = new Work({ db, key, log }, two.follow().calls)

  await assert.rejects(work.next(), /a listener is another installation/)
})
