/** Two installations in one process: what the control plane wants, and what the other one makes of it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { secretsOfVersion } from "../secrets/operations.js"
import { exampleDeployment } from "../testing/api.js"
import {
  createListener,
  deployTo,
  endAt,
  type TwoInstallations,
  twoInstallations,
} from "./testing/two-installations.js"

const revisionAt = async ({ remote }: TwoInstallations, revisionId: string) =>
  remote.db.row<{ status: string; seq: number; source_config: { listener_id: string | null } }>(sql`
    select status, seq, source_config from revisions where revision_id = ${revisionId}`)

test("a deployment is mirrored under its ids with its secrets and the hashes of its callers' keys (L5, L7), and is changed and deleted at the control plane only; host names are added where the agents are", async () => {
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

  const path = `/v2/deployments/${made.id}`
  const operator = { headers: { "x-api-key": remote.orgKey, "x-tenant-id": central.workspaceId } }
  const name = { body: { name: "far.example.com" } }

  const changed = await remote.call("PATCH", path, { ...operator, body: { display_name: "mine" } })
  const deleted = await remote.call("DELETE", path, operator)
  const namedThere = await remote.call("POST", `${path}/host-names`, { ...operator, ...name })
  const namedHere = await central.call("POST", `${path}/host-names`, name)
  const token = await central.call("POST", `${path}/agent-token`)

  assert.deepEqual([changed.status, changed.body.code], [400, "mirrored"])
  assert.deepEqual([deleted.status, deleted.body.code], [400, "mirrored"])
  assert.ok(namedThere.status < 300, namedThere.text)
  assert.equal(namedHere.status, 400)
  assert.match(namedHere.body.detail, /its agents are at the listener far/)
  assert.deepEqual([token.status, token.body.code], [409, "at_listener"])
})

test("what is mirrored twice is there once, in whatever order the process dies (L7), and the control plane itself cannot be its own listener", async () => {
  await using two = await twoInstallations()
  const made = await deployTo(two.central, two.listenerId, "far")
  await two.follow().work.next()

  await two.remote.db.run(sql`update mirrored_deployments set version = 'lost'`)
  await two.follow().work.next()

  const rows = await two.remote.db.rows(sql`
    select r.revision_id, s.name from revisions r join secrets s using (deployment_id) where deployment_id = ${made.id}`)
  assert.deepEqual(rows, [{ revision_id: made.latest_revision_id, name: "MODEL_KEY" }])

  const { Work } = await import("./mirror/work-loop.js")
  const { createLog } = await import("@superstep/toolkit/log/log")
  const { db, key } = two.central
  const log = createLog({ process: "control", level: "silent" })

  const work = new Work({ db, key, log }, two.follow().calls)

  await assert.rejects(work.next(), /a listener is another installation/)
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
  const next = await central.change(made.id, { source_revision_config: { repo_ref: "next" } })
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
  const { isHeldByListener } = await import("./exchange/report-queries.js")
  const made = await deployTo(central, two.listenerId, "far")
  const { work, reports } = two.follow()
  await work.next()

  await central.call("DELETE", `/v2/deployments/${made.id}`)
  await work.next()
  const marked = await remote.db.row<{ is: boolean }>(sql`
    select d.delete_requested_at is not null and r.stage is null as is
    from deployments d join revisions r using (deployment_id) where deployment_id = ${made.id}`)
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

test("a deployment that cannot be mirrored or reported keeps no other one waiting", async () => {
  await using two = await twoInstallations()
  const { central, remote } = two
  const odd = await deployTo(central, two.listenerId, "odd")
  await remote.db.run(sql`
    create function refuse_odd() returns trigger language plpgsql as $$ begin raise exception 'odd'; end $$`)
  await remote.db.run(sql`
    create trigger refuse_odd before insert on deployments for each row when (new.name = 'odd') execute function refuse_odd()`)
  const fine = await deployTo(central, two.listenerId, "fine")
  const { work, reports } = two.follow()

  const isDone = await work.next()
  await remote.db.run(sql`drop trigger refuse_odd on deployments`)
  await reports.send()
  const path = (it: typeof odd) => `/v2/deployments/${it.id}/revisions/${it.latest_revision_id}`
  const stuck = await central.call("GET", path(odd))
  await work.next()
  // As no release reports it.
  await remote.db.run(sql`
    update revisions set error_code = repeat('x', 200) where revision_id = ${odd.latest_revision_id}`)
  await endAt(two, fine.latest_revision_id, "DEPLOYED")
  await assert.rejects(reports.send(), /422/)

  assert.equal(isDone, false)
  assert.match(stuck.body.status_message, /cannot carry it out: an internal error/)
  assert.equal((await central.call("GET", path(fine))).body.status, "DEPLOYED")
})
