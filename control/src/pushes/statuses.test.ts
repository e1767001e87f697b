/** Commit statuses: the request to each host, and what happens when the host refuses it. */

import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { shared, startApi } from "../testing/api.js"
import { originOf, statusRequest, verdictOn } from "./commit-status.js"
import { type Provider, providers } from "./push.js"
import { createStatusLoop, statusOutbox } from "./send-statuses.js"
import { fakeGitHost } from "./testing/fake-git-host.js"

const token = "a-token-that-may-write-statuses"
const sha = "4be1f0a7c1d25b3f1e0b6c9d8a7f6e5d4c3b2a10"
const api = shared(() => startApi({ gitProtocols: ["https", "ssh", "http"] }))
const host = shared(() => fakeGitHost(token))
beforeEach(async () => {
  await api.db.run(sql`delete from deployments`)
  await api.db.run(sql`delete from integrations`)
  host.received.length = 0
  host.instead = undefined
})

const sender = (allowsLoopback = true) => ({
  db: api.db,
  log,
  key: api.key,
  agentsUrl: "http://agents.test",
  apiUrl: "http://api.test",
  allowsLoopback,
})
const asked = { limit: 10, holdMs: 60_000, busy: [] }

/** Sends all that is due. */
async function send(allowsLoopback?: boolean): Promise<void> {
  const outbox = statusOutbox(sender(allowsLoopback))
  for (const it of await outbox.take(asked)) await outbox.deliver(it, new AbortController().signal)
}
async function endWaits(): Promise<void> {
  await api.db.run(sql`update integrations set not_before = null`)
  await api.db.run(sql`update commit_statuses set due_at = now() where due_at is not null`)
}

async function deployment(provider: Provider | undefined, given = token) {
  const id: string = (await api.integrate("host", given, host.host)).id
  if (provider) await api.call("PUT", `/v2/integrations/git/${id}/webhook`, { body: { provider } })
  const at = { integration_id: id, repo_url: `http://${host.host}/acme/shop.git` }
  const made = await api.deploy("shop-bot", at)
  return { ...at, deploymentId: made.id as string, revisionId: made.latest_revision_id as string }
}

/** A field of all that the host was sent. */
const sent = (field: string) => host.received.map(({ body }) => body[field])

/** Writes the parts of the pipeline's state that a host gets. */
const become = (revisionId: string, status: string, error: { code?: string; message?: string } = {}) =>
  api.db.run(sql`
    update revisions set status = ${status}, commit_sha = ${sha}, error_code = ${error.code ?? null},
      status_message = ${error.message ?? null} where revision_id = ${revisionId}`)
const outbox = (revisionId: string) =>
  api.db.row<{ sent: string | null; is_due: boolean; last_error: string | null }>(sql`
    select sent, due_at is not null as is_due, last_error from commit_statuses where revision_id = ${revisionId}`)
const logOf = async (revisionId: string) =>
  (await api.db.rows<{ message: string }>(sql`select message from log_lines where revision_id = ${revisionId}`)).map(
    ({ message }) => message,
  )

const expected: Readonly<Record<Provider, readonly string[]>> = {
  github: ["pending", "success", "failure", "error"],
  gitlab: ["pending", "success", "failed", "canceled"],
  gitea: ["pending", "success", "failure", "warning"],
  bitbucket: ["INPROGRESS", "SUCCESSFUL", "FAILED", "STOPPED"],
}
for (const provider of providers) {
  test(`${provider} gets pending, success with the address, failure with the reason, and cancelled`, async () => {
    const { deploymentId, revisionId } = await deployment(provider)
    for (const [status, error] of [
      ["BUILDING", {}],
      ["DEPLOYED", {}],
      [
        "BUILD_FAILED",
        { code: "install_failed", message: "npm ended with 1. Look at the log.\n  npm ERR! secret line" },
      ],
      ["SKIPPED", { code: "superseded", message: "a newer revision took its place" }],
    ] as const) {
      await become(revisionId, status, error)
      await send()
    }

    const page = `http://api.test/deployments/${deploymentId}/revisions/${revisionId}?workspace=${api.workspaceId}`
    const said = host.received.map(({ body }) => body)
    assert.deepEqual(fieldsOf(said, "state"), expected[provider])
    assert.ok(said.every((it) => (it.target_url ?? it.url) === page))
    assert.equal(said[1]?.description, "Deployed at http://agents.test/d/shop-bot")
    assert.equal(said[2]?.description, "install_failed: npm ended with 1. Look at the log.")
    assert.ok(said.every((it) => (it.context ?? it.name) === "superstep/shop-bot"))
    assert.ok(host.received.every(({ path }) => path.includes(sha)))
    assert.deepEqual(await outbox(revisionId), { sent: "cancelled", is_due: false, last_error: null })
  })
}

test("only the newest state is sent, each once; one that crashes after its deploy becomes a failure", async () => {
  const { revisionId } = await deployment("github")
  for (const status of ["BUILDING", "DEPLOYING", "DEPLOYED"]) await become(revisionId, status)
  await send()
  await become(revisionId, "DEPLOYED")
  await send()

  assert.deepEqual(sent("state"), ["success"])

  await become(revisionId, "DEPLOYED", { code: "crash_loop", message: "it crashed three times" })
  await send()

  assert.deepEqual(sent("description"), [
    "Deployed at http://agents.test/d/shop-bot",
    "crash_loop: it crashed three times",
  ])
})

test("the loop sends what a dead process had taken once its hold is over, and what a notification reports", async () => {
  const { revisionId } = await deployment("gitea")
  await become(revisionId, "BUILDING")
  assert.equal((await statusOutbox(sender()).take({ ...asked, holdMs: 50 })).length, 1)
  const loop = createStatusLoop(sender())
  const isSent = (state: string) => async () => (await outbox(revisionId))?.sent === state
  try {
    await loop.start()
    // Sooner than by the sweep that finds lost notifications.
    await until(isSent("pending"), { what: "the state of the dead process is sent", timeoutMs: 30_000 })
    await become(revisionId, "DEPLOYED")
    await until(isSent("success"), { what: "the next state is sent", timeoutMs: 30_000 })
  } finally {
    await loop.stop()
  }

  assert.deepEqual(sent("state"), ["pending", "success"])
})

test("a late result of a process that was taken for dead changes nothing", async () => {
  const { revisionId } = await deployment("github")
  await become(revisionId, "DEPLOYED")
  const late = statusOutbox(sender())
  const [first] = await late.take({ ...asked, holdMs: 0 })
  assert.ok(first)
  await send()

  for (const status of [502, 403]) {
    host.instead = { status, body: "" }
    assert.equal(await late.deliver(first, new AbortController().signal), false)
  }
  assert.deepEqual(await logOf(revisionId), [])
  assert.deepEqual(await outbox(revisionId), { sent: "success", is_due: false, last_error: null })
})

test("while a state is sent the next one of its revision waits, and is due at once afterwards", async () => {
  const { revisionId } = await deployment("github")
  await become(revisionId, "BUILDING")
  const outbox = statusOutbox(sender())
  const [first] = await outbox.take(asked)
  assert.ok(first)
  await become(revisionId, "DEPLOYED")
  const delivered = outbox.deliver(first, new AbortController().signal)
  const meanwhile = await Promise.all([outbox.take(asked), outbox.nextMs()])

  assert.deepEqual(meanwhile, [[], undefined])
  assert.equal(await delivered, true)
  assert.deepEqual(fieldsOf(await outbox.take(asked), "wanted"), ["success"])
})

test("an unreachable host is retried; a refusal is logged and does not change the revision", async () => {
  const { revisionId } = await deployment("github")
  await become(revisionId, "DEPLOYED")
  host.instead = { status: 502, body: "bad gateway", headers: { "retry-after": "1800" } }
  await send()
  const delayed = await outbox(revisionId)
  const waits = await api.db.row<{ minutes: number }>(sql`
    select extract(epoch from due_at - now())::float8 / 60 as minutes from commit_statuses`)
  host.instead = { status: 403, body: `{"message":"Resource not accessible by personal access token ${token}"}` }
  await endWaits()
  await send()

  assert.deepEqual(delayed, { sent: null, is_due: true, last_error: "502 bad gateway" })
  assert.ok((waits?.minutes ?? 0) > 29, "the host asked for half an hour")
  const refused = await outbox(revisionId)
  assert.equal(refused?.is_due, false)
  const [line = "", ...others] = await logOf(revisionId)
  assert.match(line, /refused the status "success" of commit 4be1.*403.*not accessible/)
  assert.deepEqual(others, [])
  assert.ok(!line.includes(token))
  const row = await api.db.row<{ status: string }>(sql`select status from revisions where revision_id = ${revisionId}`)
  assert.equal(row?.status, "DEPLOYED")
})

test("what a host asks of one status holds for all of the workspace to that host, and for no other host or workspace (H7)", async () => {
  await using elsewhere = await fakeGitHost(token)
  const first = await deployment("github")
  const { integration_id, repo_url } = first
  const create = async (at: { integration_id: string; repo_url: string }, name: string) =>
    (await api.deploy(name, at)).latest_revision_id as string
  const second = await create({ integration_id, repo_url }, "second")
  const other = await api.integrate("elsewhere", token, elsewhere.host)
  await api.call("PUT", `/v2/integrations/git/${other.id}/webhook`, { body: { provider: "gitea" } })
  const third = await create({ integration_id: other.id, repo_url: `http://${elsewhere.host}/acme/shop.git` }, "third")
  let calls = 0
  host.instead = {
    get status() {
      calls++
      return 429
    },
    body: "slow down",
    headers: { "retry-after": "600" },
  }

  await become(first.revisionId, "DEPLOYED")
  await send()
  await become(second, "DEPLOYED")
  await become(third, "DEPLOYED")
  await send()
  const waiting = await api.db.row<{ attempts: number; minutes: number }>(sql`
    select attempts, extract(epoch from due_at - now())::float8 / 60 as minutes from commit_statuses where revision_id = ${second}`)
  const nextMinutes = ((await statusOutbox(sender()).nextMs()) ?? 0) / 60_000
  const foreign = await api.db.rows(sql`select from integrations where not_before is not null and host <> ${host.host}`)
  host.instead = undefined
  await api.db.run(sql`update integrations set not_before = now() where not_before is not null`)
  await send()

  assert.equal(calls, 1, "the second status is not sent while the host wants to be left alone")
  assert.equal(waiting?.attempts, 0)
  assert.ok((waiting?.minutes ?? 1) <= 0, "it is due itself")
  assert.ok(nextMinutes > 9 && nextMinutes <= 12, `the loop sleeps for ${nextMinutes} minutes`)
  assert.deepEqual(foreign, [])
  assert.equal((await outbox(third))?.sent, "success")
  assert.equal((await outbox(second))?.sent, "success", "it is sent when the time is over")
  assert.equal((await outbox(first.revisionId))?.is_due, true)
})

test("a limit without Retry-After holds the other statuses for a minute; other failures hold none", async () => {
  const seconds = async () =>
    (
      await api.db.row<{ is: number | null }>(sql`
        select extract(epoch from not_before - now())::float8 as is from integrations`)
    )?.is ?? null
  const { revisionId } = await deployment("github")
  await become(revisionId, "BUILDING")
  host.instead = { status: 502, body: "bad gateway" }
  await send()
  const afterFailure = await seconds()
  await endWaits()
  host.instead = { status: 403, body: "You have exceeded a secondary rate limit" }
  await send()
  const afterLimit = await seconds()

  assert.equal(afterFailure, null)
  assert.ok(afterLimit !== null && afterLimit > 55 && afterLimit <= 60, `${afterLimit} s`)
})

test("a status that is due when its deployment leaves its integration is not due again and again", async () => {
  const { revisionId } = await deployment("github")
  await become(revisionId, "BUILDING")
  await api.db.run(sql`update deployments set integration_id = null`)

  await send()

  assert.deepEqual(await outbox(revisionId), { sent: null, is_due: false, last_error: null })
  assert.deepEqual(host.received, [])
})

test("redirects are not followed, and this machine is called only while the platform listens on loopback only", async () => {
  await using elsewhere = await fakeGitHost(token)
  const { revisionId } = await deployment("github")
  await become(revisionId, "BUILDING")
  host.instead = { status: 307, body: "", headers: { location: `http://${elsewhere.host}/api/v3/x` } }
  await send()
  host.instead = undefined
  await become(revisionId, "DEPLOYED")
  await send(false)

  assert.deepEqual([elsewhere.received, host.received], [[], []])
  assert.match((await logOf(revisionId)).at(-1) ?? "", /127\.0\.0\.1 is not allowed as the address of a git host/)
})

test("an integration for an unknown host is used only for fetching", async () => {
  const { revisionId } = await deployment(undefined)
  await become(revisionId, "DEPLOYED")
  await send()

  assert.deepEqual(host.received, [])
  assert.deepEqual(await logOf(revisionId), [])
})

test("a token is sent only to its own host and its API", () => {
  for (const [repoUrl, name, origin] of [
    ["https://github.com/acme/shop", "github.com", "https://github.com"],
    ["git@github.com:acme/shop.git", "github.com", "https://github.com"],
    ["ssh://git@git.acme.example:2222/a/b", "git.acme.example:3000", "https://git.acme.example:3000"],
    ["https://evil.example/acme/shop", "github.com", undefined],
    ["https://github.com.evil.example/acme/shop", "github.com", undefined],
    ["https://github.com:8443/acme/shop", "github.com", undefined],
  ] as const)
    assert.equal(originOf(repoUrl, name), origin, repoUrl)
  const status = { sha, state: "success", context: "superstep/a", description: "", targetUrl: "" } as const
  for (const [provider, repoUrl, url] of [
    ["github", "https://github.com/acme/shop", `https://api.github.com/repos/acme/shop/statuses/${sha}`],
    ["github", "https://x.ghe.com/acme/shop", `https://api.x.ghe.com/repos/acme/shop/statuses/${sha}`],
    [
      "gitlab",
      "https://gitlab.com/g/sub/shop.git",
      `https://gitlab.com/api/v4/projects/g%2Fsub%2Fshop/statuses/${sha}`,
    ],
    ["gitea", "https://codeberg.org/a/b", `https://codeberg.org/api/v1/repos/a/b/statuses/${sha}`],
    [
      "bitbucket",
      "https://bitbucket.org/a/b",
      `https://api.bitbucket.org/2.0/repositories/a/b/commit/${sha}/statuses/build`,
    ],
  ] as const) {
    const { host: name, origin } = new URL(repoUrl)
    const credentials = { kind: "token", host: name, username: "x-access-token", token: new Secret("t") } as const
    assert.equal(statusRequest(provider, { repoUrl, origin, credentials }, status)?.url, url)
  }
})

test("GitLab's refusal of an unchanged state counts as success; a rate limit is retried", () => {
  assert.equal(verdictOn("gitlab", 400, '{"message":"Cannot transition status via :enqueue from :pending"}'), "sent")
  assert.equal(verdictOn("github", 403, "You have exceeded a secondary rate limit"), "again")
  assert.equal(verdictOn("github", 429, ""), "again")
  assert.equal(verdictOn("github", undefined, ""), "again")
  assert.equal(verdictOn("github", 307, ""), "refused")
})
