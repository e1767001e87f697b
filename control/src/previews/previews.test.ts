/** Previews through the API and signed webhooks of pull requests: who gets one, what it can read, and how it ends. */
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { until } from "@superstep/toolkit/testing/until"
import { lockDeployment } from "../deployments/queries.js"
import { listenerExists } from "../listeners/operations.js"
import type { Provider } from "../pushes/push.js"
import { repositoryOf, shaOf, signed } from "../pushes/testing/deliveries.js"
import { secretsOfRevision } from "../secrets/operations.js"
import { exampleDeployment, shared, startApi, testQuotas } from "../testing/api.js"
import { lockWorkspace } from "../workspaces/queries.js"
import { nextStep, previewName } from "./preview.js"
import { reconcilePreviews } from "./reconcile.js"

const secret = "a secret for all repositories"
const repoUrl = "https://github.com/acme/shop"

const api = shared(() => startApi({ webhookSecrets: [new Secret(secret)] }))
let parentId: string
beforeEach(async () => {
  for (const statement of [sql`delete from previews`, sql`delete from deployments`]) await api.db.run(statement)
  parentId = (await api.call("POST", "/v2/deployments", { body: exampleDeployment() })).body.id
  const body = { secrets: [{ name: "MODEL_KEY", value: "sk-for-previews" }], max_previews: 2 }
  const put = await api.call("PUT", `/v2/deployments/${parentId}/previews`, { body })
  assert.equal(put.status, 200, put.text)
})

interface Pull {
  readonly number?: number
  readonly sha?: string
  readonly fork?: boolean
  readonly base?: string
  readonly label?: string
}

/** The parts of GitHub's pull request payload that the code reads. */
const pullBody = (action: string, { number = 7, sha = shaOf("1"), fork = false, base = "main", label }: Pull) => ({
  action,
  number,
  ...(label !== undefined && { label: { name: label } }),
  pull_request: {
    title: `change ${number}`,
    head: { ref: "feature", sha, repo: { full_name: fork ? "stranger/shop" : "acme/shop" } },
    base: { ref: base, sha: shaOf("a"), repo: { full_name: "acme/shop" } },
    labels: label === undefined ? [] : [{ name: label }],
  },
  repository: repositoryOf(repoUrl),
})

async function deliver(action: string, pull: Pull = {}, provider: Provider = "github") {
  const { path, headers, text } = signed(provider, { secret, event: "pull_request", body: pullBody(action, pull) })
  const reply = await api.call("POST", path, { text, headers: { ...headers, "x-api-key": "" } })
  assert.ok([200, 202].includes(reply.status), reply.text)
  return reply.body.deployments[0]
}

const previews = async (query = "") => (await api.call("GET", `/v2/previews${query}`)).body.resources
const only = async () => {
  const [preview, ...others] = await previews()
  assert.deepEqual(others, [])
  return preview
}
const read = async (id: string) => (await api.call("GET", `/v2/deployments/${id}`)).body
const reconcile = () =>
  reconcilePreviews({
    db: api.db,
    key: api.key,
    failures: new MemberFailures(createLog({ process: "control", level: "silent" })),
    gitProtocols: ["https"],
    defaultQuotas: testQuotas,
    listenerExists,
  })

test("a pull request gets a deployment of its commit, with only the preview secrets (W1)", async () => {
  const outcome = await deliver("opened")

  const preview = await only()
  const deployment = await read(preview.deployment_id)
  assert.equal(outcome.result, "accepted")
  assert.equal(outcome.revision_id, deployment.latest_revision_id)
  assert.deepEqual([preview.state, preview.number, preview.parent_deployment_id], ["active", 7, parentId])
  assert.deepEqual([deployment.name, deployment.is_preview], ["shop-bot-pr-7", true])
  assert.equal(deployment.source_revision_config.repo_commit_sha, shaOf("1"))
  assert.equal(deployment.source_revision_config.repo_ref, "refs/pull/7/head")
  assert.equal(deployment.source_config.build_on_push, false)
  const secrets = await secretsOfRevision(api.db, api.key, { revision_id: deployment.latest_revision_id })
  assert.deepEqual(secrets, { MODEL_KEY: "sk-for-previews" })
  assert.equal((await read(parentId)).is_preview, false)
})

test("a push to it creates a revision of the same deployment, the same commit again does not; closing it deletes the deployment, and reopening creates a new one (W4)", async () => {
  await deliver("opened")
  const { deployment_id } = await only()
  await deliver("synchronize", { sha: shaOf("2") })
  await deliver("synchronize", { sha: shaOf("2") })

  const { body } = await api.call("GET", `/v2/deployments/${deployment_id}/revisions`)
  assert.deepEqual(
    body.resources.map(
      (it: { source_revision_config: { repo_commit_sha: string } }) => it.source_revision_config.repo_commit_sha,
    ),
    [shaOf("2"), shaOf("1")],
  )
  assert.equal((await only()).deployment_id, deployment_id)

  await deliver("closed")
  const closed = await only()
  const deleted = await read(deployment_id)
  await deliver("reopened")
  const reopened = await only()

  assert.deepEqual([closed.state, closed.deployment_id, deleted.status], ["closed", null, "AWAITING_DELETE"])
  assert.equal(reopened.state, "active")
  assert.notEqual(reopened.deployment_id, deployment_id)
})

test("a fork's commit runs only after this commit was approved (W2)", async () => {
  await deliver("opened", { fork: true })
  const waiting = await only()
  await deliver("labeled", { fork: true, label: "bug" })
  const other = await only()
  await deliver("labeled", { fork: true, label: "preview" })
  const approved = await only()
  await deliver("synchronize", { fork: true, sha: shaOf("2") })
  const pushed = await only()

  assert.deepEqual([waiting.state, waiting.deployment_id], ["awaiting_approval", null])
  assert.equal(other.state, "awaiting_approval")
  assert.deepEqual([approved.state, approved.approved_sha], ["active", shaOf("1")])
  assert.deepEqual([pushed.state, pushed.deployment_id], ["awaiting_approval", approved.deployment_id])
  assert.equal((await read(approved.deployment_id)).source_revision_config.repo_commit_sha, shaOf("1"))
})

test("a fork is approved through the API, for the reviewed commit", async () => {
  await deliver("opened", { fork: true })
  await deliver("synchronize", { fork: true, sha: shaOf("2") })
  const { id } = await only()
  const approve = (sha?: string) => api.call("POST", `/v2/previews/${id}/approval`, { body: sha ? { sha } : {} })

  const foreign = await api.callAsOther("POST", `/v2/previews/${id}/approval`, { body: {} })
  const stale = await approve(shaOf("1"))
  const waiting = await only()
  const done = await approve(shaOf("2"))
  await deliver("closed", { fork: true })
  const closed = await approve()

  assert.equal(foreign.status, 404)
  assert.deepEqual([stale.status, stale.body.code, waiting.state], [409, "moved_on", "awaiting_approval"])
  assert.deepEqual([done.status, done.body.state], [200, "active"])
  assert.equal(closed.status, 409)
})

test("where a host reports all labels, an old approval does not apply to a newer commit", async () => {
  const gitea = (action: string, pull: Pull) => {
    const { label: _, ...body } = pullBody(action, { fork: true, ...pull }) as { label?: object }
    const { path, headers, text } = signed("gitea", { secret, event: "pull_request", body })
    return api.call("POST", path, { text, headers })
  }
  await gitea("opened", {})
  await gitea("label_updated", { label: "preview" })
  const first = await only()
  await gitea("synchronized", { sha: shaOf("2"), label: "preview" })
  await gitea("label_updated", { sha: shaOf("2"), label: "preview" })
  const second = await only()

  assert.equal(first.state, "active")
  assert.deepEqual([second.state, second.approved_sha], ["awaiting_approval", shaOf("1")])
})

test("a repository has at most max_previews; the next one starts when one ends (W3)", async () => {
  await Promise.all([1, 2, 3].map((number) => deliver("opened", { number })))
  const states = (await previews()).map((it: { state: string }) => it.state).sort()
  const waiting = (await previews("?state=waiting"))[0]
  const active = (await previews("?state=active"))[0]
  await deliver("closed", { number: active.number })
  await reconcile()

  assert.deepEqual(states, ["active", "active", "waiting"])
  const now = (await previews()).find((it: { id: string }) => it.id === waiting.id)
  assert.equal(now.state, "active")
})

test("however many previews of one repository wait, others start and end (W3, W4)", async () => {
  await deliver("opened", { number: 1 })
  await deliver("opened", { number: 2 })
  await deliver("opened", { number: 3 })
  await api.db.run(sql`update previews set expires_at = now() where number = 1`)
  const other = (await api.callAsOther("POST", "/v2/deployments", { body: exampleDeployment("crowded") })).body.id
  await api.callAsOther("PUT", `/v2/deployments/${other}/previews`, { body: { max_previews: 1 } })
  await api.db.run(sql`
    insert into previews (preview_id, workspace_id, parent_id, repository, number, title, is_fork, head_ref, head_sha, state,
      pushed_at, expires_at)
    select gen_random_uuid(), ${api.other.workspaceId}, ${other}, 'crowded', number, 'waits', false, 'refs/heads/x',
      ${shaOf("1")}, 'waiting', now() - interval '1 hour', now() + interval '1 day'
    from generate_series(1, 101) as number`)

  await reconcile()

  const states: [number, string][] = (await previews()).map((it: { number: number; state: string }) => [
    it.number,
    it.state,
  ])
  assert.deepEqual(
    new Map(states),
    new Map([
      [1, "expired"],
      [2, "active"],
      [3, "active"],
    ]),
  )
  const crowded = await api.callAsOther("GET", "/v2/previews?state=active")
  assert.equal(crowded.body.resources.length, 1)
})

test("a preview ends after its time without a push, and with its parent (W4)", async () => {
  await deliver("opened", { number: 1 })
  await deliver("opened", { number: 2 })
  await api.db.run(sql`update previews set expires_at = now() where number = 1`)
  await reconcile()
  const [two, one] = (await previews()).sort((a: { number: number }, b: { number: number }) => b.number - a.number)
  await api.call("DELETE", `/v2/deployments/${parentId}`)
  await reconcile()
  const after = await previews()

  assert.deepEqual([one.state, two.state], ["expired", "active"])
  assert.match(one.reason, /7 days/)
  assert.deepEqual(after.map((it: { state: string }) => it.state).sort(), ["closed", "expired"])
  const left = await api.db.rows(sql`select 1 from deployments where is_preview and delete_requested_at is null`)
  assert.equal(left.length, 0)
})

test("a preview is deleted on request, and closed when its deployment is deleted", async () => {
  await deliver("opened", { number: 1 })
  await deliver("opened", { number: 2 })
  const [two, one] = await previews()
  const foreign = await api.callAsOther("DELETE", `/v2/previews/${one.id}`)
  const removed = await api.call("DELETE", `/v2/previews/${one.id}`)
  await api.call("DELETE", `/v2/deployments/${two.deployment_id}`)
  await reconcile()

  assert.deepEqual([foreign.status, removed.status], [404, 204])
  assert.deepEqual(
    (await previews()).map((it: { state: string }) => it.state),
    ["closed", "closed"],
  )
  assert.deepEqual((await api.callAsOther("GET", "/v2/previews")).body.resources, [])
})

test("other branches, other deployments and pushes do not affect previews", async () => {
  const elsewhere = await deliver("opened", { base: "staging" })
  await api.call("PUT", `/v2/deployments/${parentId}/previews`, { body: { is_enabled: false } })
  const off = await deliver("opened")

  assert.match(elsewhere.detail, /is to staging/)
  assert.match(off.detail, /previews are disabled/)
  assert.deepEqual(await previews(), [])
})

test("settings show masks, keep masked values, and refuse reserved names", async () => {
  const path = `/v2/deployments/${parentId}/previews`
  const put = (body: object) => api.call("PUT", path, { body })

  const kept = await put({ secrets: [{ name: "MODEL_KEY", value: "********" }] })
  const unknown = await put({ secrets: [{ name: "OTHER", value: "********" }] })
  const reserved = await put({ secrets: [{ name: "DATABASE_URI", value: "x" }] })
  const odd = await put({ max_previews: 0 })
  const foreign = await api.callAsOther("PUT", path, { body: {} })
  const shown = await api.call("GET", path)
  await deliver("opened")
  const deployment = await read((await only()).deployment_id)
  const ofPreview = await api.call("PUT", `/v2/deployments/${deployment.id}/previews`, { body: {} })

  assert.deepEqual(kept.body.secrets, [{ name: "MODEL_KEY", value: "********" }])
  assert.deepEqual([unknown.status, reserved.status, odd.status, foreign.status], [422, 400, 422, 404])
  assert.equal(shown.body.max_previews, 5)
  assert.equal(ofPreview.status, 400)
  const secrets = await secretsOfRevision(api.db, api.key, { revision_id: deployment.latest_revision_id })
  assert.deepEqual(secrets, { MODEL_KEY: "sk-for-previews" })
})

test("a name that is taken fails the preview and changes no other deployment", async () => {
  const own = await api.call("POST", "/v2/deployments", { body: exampleDeployment("shop-bot-pr-7") })
  const outcome = await deliver("opened")

  assert.match(outcome.detail, /shop-bot-pr-7 exists/)
  assert.equal((await only()).state, "failed")
  assert.equal((await read(own.body.id)).is_preview, false)
})

test("a delivery for several deployments does not deadlock with a transaction on one of them, or on a preview of it", async () => {
  const second = (await api.call("POST", "/v2/deployments", { body: exampleDeployment("shop-two") })).body.id
  await api.call("PUT", `/v2/deployments/${second}/previews`, { body: {} })
  const deliveredBeside = async (deploymentId: string, action: string, pull: Pull) => {
    const [outcome] = await api.db.transaction(async (tx) => {
      await lockDeployment(tx, api.workspaceId, deploymentId)
      const delivery = deliver(action, pull)
      const waits = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until(() => api.db.row(waits), { what: "the delivery waits for that deployment" })
      // In the same order as every change of a deployment.
      await lockWorkspace(tx, api.workspaceId)
      return [delivery]
    })
    return (await outcome)?.result
  }

  assert.equal(await deliveredBeside(second, "opened", {}), "accepted")
  const all: { parent_deployment_id: string; deployment_id: string }[] = await previews()
  assert.equal(all.length, 2)
  const ofSecond = all.find((it) => it.parent_deployment_id === second)?.deployment_id ?? ""
  assert.equal(await deliveredBeside(ofSecond, "synchronize", { sha: shaOf("2") }), "accepted")
})

test("a push for which there is no room keeps the preview's deployment, which ends with the pull request (W4)", async (t) => {
  t.after(() => api.db.run(sql`delete from workspace_quotas`))
  await deliver("opened")
  const { deployment_id } = await only()
  const body = { source_config: { resource_spec: { memory_mb: 2048 } } }
  assert.equal((await api.call("PATCH", `/v2/deployments/${parentId}`, { body })).status, 200)
  await api.db.run(
    sql`insert into workspace_quotas (workspace_id, memory_mb) select workspace_id, 1 from workspaces on conflict do nothing`,
  )

  const outcome = await deliver("synchronize", { sha: shaOf("2") })
  const failed = await only()
  await deliver("closed")

  assert.match(outcome.detail, /the quota memory_mb/)
  assert.deepEqual([failed.state, failed.deployment_id], ["failed", deployment_id])
  assert.equal((await read(deployment_id)).status, "AWAITING_DELETE")
})

test("a long name is cut before the number", () => {
  assert.equal(previewName("shop", 7), "shop-pr-7")
  assert.equal(previewName("a".repeat(63), 123), `${"a".repeat(56)}-pr-123`)
  assert.equal(previewName(`${"a".repeat(55)}-bcdefgh`, 123), `${"a".repeat(55)}-pr-123`)
})

test("a fork is never approved without a full commit id", () => {
  const settings = { is_enabled: true, max_previews: 5, ttl_days: 7, approve_label: "preview" }
  const preview = { is_fork: true, head_ref: "refs/heads/x", head_sha: null, approved_sha: null }
  assert.equal(nextStep(preview, { others: 0, hasDeployment: false, settings }).kind, "hold")
})
