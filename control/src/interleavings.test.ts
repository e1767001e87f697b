/**
 * Pairs of requests on a deployment, or on what a workspace has, at the same moment (toolkit's testing/interleavings.ts).
 * Long on purpose: two tables of requests that are read by lines, and what both need.
 */
import assert from "node:assert/strict"
import { AsyncLocalStorage } from "node:async_hooks"
import { type TestContext, test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import type { Database } from "@superstep/toolkit/db/database"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import {
  BetweenStatements,
  type Interleavings,
  interleave,
  type Request,
  type TwoProcesses,
} from "@superstep/toolkit/testing/interleavings"
import { cookieOf, fromPage, origin } from "./console/testing/sign-in.js"
import { signedPush } from "./pushes/testing/deliveries.js"
import { exampleDeployment, startApi, type TestApi } from "./testing/api.js"

type Call = TestApi["call"]

const outsideOfRequests = AsyncLocalStorage.snapshot()

interface Subject {
  readonly name: string
  readonly deploymentId: string
  /** The newest revision of the setup, and the one that serves. */
  readonly newest: string
  readonly serving: string
}

const webhookSecret = "the installation's secret"
const unknown = "00000000-0000-4000-8000-000000000000"

// biome-ignore lint/suspicious/noExplicitAny: of a reply of any kind
type Keep = (reply: any) => unknown

const request =
  <On = Subject>(
    method: string,
    path: (on: On) => string,
    { body, keep }: { body?: (on: On, by: string) => object; keep?: Keep } = {},
  ): Request<Call, On> =>
  async (call, on, by) => {
    const reply = await call(method, path(on), body && { body: body(on, by) })
    return [reply.status, reply.status < 300 ? keep?.(reply.body) : reply.body?.code]
  }

const deployment =
  (rest = "") =>
  ({ deploymentId }: Subject) =>
    `/v2/deployments/${deploymentId}${rest}`
const newest =
  (rest = "") =>
  (on: Subject) =>
    deployment(`/revisions/${on.newest}${rest}`)(on)
const serving =
  (rest = "") =>
  (on: Subject) =>
    deployment(`/revisions/${on.serving}${rest}`)(on)
const nothing = () => ({})
const ref = (_: Subject, by: string) => ({ source_revision_config: { repo_ref: by } })

const requests: Interleavings<TwoProcesses<Call>, Call, Subject>["requests"] = {
  create: request("POST", () => "/v2/deployments", { body: ({ name }) => exampleDeployment(name) }),
  get: request("GET", deployment(), { keep: ({ status, secrets }) => [status, secrets.length] }),
  list: request("GET", ({ name }) => `/v2/deployments?name_contains=${name}`, {
    keep: ({ resources }) => resources.length,
  }),
  "list revisions": request("GET", deployment("/revisions"), {
    keep: ({ resources }) => resources.map(({ status }: { status: string }) => status),
  }),
  "get revision": request("GET", newest(), { keep: ({ status }) => status }),
  patch: request("PATCH", deployment(), { body: ref }),
  rename: request("PATCH", deployment(), { body: (_, by) => ({ display_name: by }) }),
  "change a secret": request("PATCH", deployment(), { body: (_, by) => ({ secrets: [{ name: "KEY", value: by }] }) }),
  "put a secret": request("PUT", deployment("/secrets/OTHER"), { body: (_, by) => ({ value: by }) }),
  "list secrets": request("GET", deployment("/secrets"), {
    keep: (list) => JSON.stringify(list).match(/MODEL_KEY|OTHER|KEY/g)?.length,
  }),
  delete: request("DELETE", deployment()),
  "create revision": request("POST", deployment("/revisions"), { body: ref }),
  "queue revision": request("POST", deployment("/revisions?on_conflict=queue"), { body: ref }),
  "supersede revision": request("POST", deployment("/revisions?on_conflict=supersede"), { body: ref }),
  redeploy: request("POST", serving("/redeploy"), { body: nothing }),
  "roll back": request("POST", deployment("/rollback"), { body: nothing }),
  interrupt: request("POST", newest("/interrupt"), { body: nothing }),
  pause: request("POST", deployment("/pause"), { body: nothing }),
  resume: request("POST", deployment("/resume"), { body: nothing }),
  promote: request("POST", newest("/promote"), { body: nothing }),
  abort: request("POST", newest("/abort"), { body: nothing }),
  "add host name": request("POST", deployment("/host-names"), {
    body: ({ name }) => ({ name: `${name}.example.test` }),
  }),
  push: async (call) => {
    const { path, headers, text } = signedPush("github", webhookSecret)
    const reply = await call("POST", path, { text, headers: { "x-api-key": "", ...headers } })
    return [reply.status, reply.body.result]
  },
  "build no push": request("PATCH", deployment(), { body: () => ({ source_config: { build_on_push: false } }) }),
  "watch other paths": request("PATCH", deployment(), { body: () => ({ source_config: { watch_paths: ["docs"] } }) }),
  "list host names": request("GET", deployment("/host-names"), {
    keep: (list) => JSON.stringify(list).includes("example.test"),
  }),
}

let lastName = 0
const nextName = () => `bot-${++lastName}`

/** The only deployment: the quotas would not let all cases have theirs. */
async function created({ db, second: call }: TwoProcesses<Call>, config: object = {}): Promise<Subject> {
  await db.run(sql`delete from deployments`)
  const name = nextName()
  const { body, text, status } = await call("POST", "/v2/deployments", { body: exampleDeployment(name, config) })
  assert.equal(status, 201, text)
  return { name, deploymentId: body.id, newest: body.latest_revision_id, serving: body.latest_revision_id }
}

/** The newest revision serves, as after its pipeline. */
async function served(db: Database, on: Subject): Promise<Subject> {
  await db.run(sql`update revisions set status = 'DEPLOYED', stage = null, finished_at = now(), commit_sha = ${"a".repeat(40)}, role = 'serving'
    where revision_id = ${on.newest}`)
  await db.run(sql`update deployments set active_revision_id = ${on.newest} where deployment_id = ${on.deploymentId}`)
  return { ...on, serving: on.newest }
}

const next = async (call: Call, on: Subject): Promise<Subject> => {
  const { body, text, status } = await call("PATCH", deployment()(on), { body: ref(on, "next") })
  assert.equal(status, 200, text)
  return { ...on, newest: body.latest_revision_id }
}

const onDeployment: Interleavings<TwoProcesses<Call>, Call, Subject> = {
  requests,
  setups: {
    "no deployment": async ({ db }) => {
      await db.run(sql`delete from deployments`)
      return { name: nextName(), deploymentId: unknown, newest: unknown, serving: unknown }
    },
    "a first revision in progress": (world) => created(world),
    "a revision that serves": async (world) => served(world.db, await created(world)),
    "a revision in progress beside the one that serves": async (world) =>
      next(world.second, await served(world.db, await created(world))),
    "a revision that serves, of a branch that is built": async (world) =>
      served(world.db, await created(world, { build_on_push: true })),
    "a canary": async (world) => {
      const on = await next(world.second, await served(world.db, await created(world, { canary_weight: 10 })))
      await world.db.run(sql`update revisions set status = 'DEPLOYED', stage = null, finished_at = now(), commit_sha = ${"b".repeat(40)}, role = 'canary'
        where revision_id = ${on.newest}`)
      return on
    },
  },
  always: [
    ["a first revision in progress", "create", "delete"],
    ["a first revision in progress", "rename", "build no push"],
    ["a revision that serves, of a branch that is built", "push", "build no push"],
    ["a revision that serves, of a branch that is built", "push", "watch other paths"],
    ["a first revision in progress", "delete", "interrupt"],
    ["a first revision in progress", "interrupt", "interrupt"],
  ],
  leftOf: async (db, { name }) => {
    const deployments = await db.rows<{ deployment_id: string; left: object }>(sql`
      select deployment_id, to_jsonb(d) - ${ofOneCase}::text[] || jsonb_build_object('is_deleted', delete_requested_at is not null,
        'has_own_route', route_name = name) as left
      from deployments d where name = ${name} order by created_at, deployment_id`)
    const ids = deployments.map(({ deployment_id }) => deployment_id)
    const revisions = await db.rows(sql`
      select to_jsonb(r) - ${ofOneCase}::text[] as left from revisions r where deployment_id = any (${ids}::uuid[]) order by deployment_id, seq`)
    const branches = await db.rows(
      sql`select ref, sha from watched_branches where deployment_id = any (${ids}::uuid[]) order by deployment_id`,
    )
    const audited = await db.rows(
      sql`select action, changed from audit_log where resource_id = any (${ids}::text[]) order by seq`,
    )
    return [deployments.map(({ left }) => left), revisions, branches, audited]
  },
}

/** Columns whose values are ids, times, or names of one case. */
const ofOneCase = [
  "deployment_id name route_name uid_offset number latest_revision_id active_revision_id revision_id repeats_revision_id",
  "created_at updated_at delete_requested_at not_before started_at finished_at stage_started_at watch_ended_at serves_since retire_by",
].flatMap((names) => names.split(" "))

interface Member {
  readonly personId: string
  readonly cookie: string
}

interface OnWorkspace {
  readonly name: string
  readonly deploymentId: string
  readonly otherId: string
  readonly integrationId: string
  readonly listenerId: string
  readonly webhookId: string
  readonly keyId: string
  /** An event that the webhook was called about. */
  readonly eventId: string
  /** Both are admins. */
  readonly members: readonly [Member, Member]
  readonly invitation: { readonly id: string; readonly token: string }
}

const on = (
  method: string,
  path: (on: OnWorkspace) => string,
  body?: (on: OnWorkspace, by: string) => object,
  keep?: Keep,
) => request<OnWorkspace>(method, path, { ...(body && { body }), ...(keep && { keep }) })
const github = "/v2/integrations/git"
const cluster = ({ name }: OnWorkspace) => ({
  compute_type: "k8s",
  compute_id: name,
  compute_config: { k8s_namespaces: ["a"] },
})
const role =
  (of: 0 | 1) =>
  ({ members }: OnWorkspace) =>
    `/v2/members/${members[of].personId}`
/** As a member. A member who was removed meanwhile is refused in other words than one who asks later. */
const by =
  (who: 0 | 1, method: string, path: (on: OnWorkspace) => string, body?: object): Request<Call, OnWorkspace> =>
  async (call, on) => {
    const { status } = await call(method, path(on), fromPage(on.members[who].cookie, body && { body }))
    return status === 401 || status === 403 ? [403] : [status]
  }
const previews = ({ deploymentId }: OnWorkspace) => `/v2/deployments/${deploymentId}/previews`
const count = ({ resources }: { resources: unknown[] }) => resources.length

const inWorkspace: Interleavings<TwoProcesses<Call>, Call, OnWorkspace> = {
  requests: {
    "create integration": on(
      "POST",
      () => github,
      ({ name }) => ({ name, host: "github.com", token: "t" }),
    ),
    "delete integration": on("DELETE", ({ integrationId }) => `${github}/${integrationId}`),
    "list integrations": on("GET", () => github, undefined, count),
    "create listener": on("POST", () => "/v2/listeners", cluster),
    "delete listener": on("DELETE", ({ listenerId }) => `/v2/listeners/${listenerId}`),
    "create token": on(
      "POST",
      ({ listenerId }) => `/v2/listeners/${listenerId}/tokens`,
      (_, by) => ({ name: by }),
    ),
    "list tokens": on("GET", ({ listenerId }) => `/v2/listeners/${listenerId}/tokens`, undefined, count),
    "create deployment with both": on(
      "POST",
      () => "/v2/deployments",
      ({ name, integrationId, listenerId }) =>
        exampleDeployment(`${name}-2`, { integration_id: integrationId, listener_id: listenerId }),
    ),
    "delete deployment": on("DELETE", ({ deploymentId }) => `/v2/deployments/${deploymentId}`),
    "take host name": on(
      "POST",
      ({ deploymentId }) => `/v2/deployments/${deploymentId}/host-names`,
      ({ name }) => ({ name: `${name}.example.test` }),
    ),
    "take host name for another": on(
      "POST",
      ({ otherId }) => `/v2/deployments/${otherId}/host-names`,
      ({ name }) => ({ name: `${name}.example.test` }),
    ),
    "set previews": on("PUT", previews, (_, by) => ({
      approve_label: by,
      secrets: [{ name: by.toUpperCase(), value: "v" }],
    })),
    "get previews": on("GET", previews, undefined, ({ approve_label, secrets }) => [approve_label, secrets]),
    "create webhook": on(
      "POST",
      () => "/v2/webhooks",
      () => ({ url: "http://127.0.0.1:9/hook" }),
    ),
    "delete webhook": on("DELETE", ({ webhookId }) => `/v2/webhooks/${webhookId}`),
    "list webhooks": on("GET", () => "/v2/webhooks?limit=100", undefined, count),
    "list deliveries": on("GET", ({ webhookId }) => `/v2/webhooks/${webhookId}/deliveries`, undefined, count),
    replay: on(
      "POST",
      ({ webhookId }) => `/v2/webhooks/${webhookId}/replay`,
      ({ eventId }) => ({ event_ids: [eventId] }),
      ({ deliveries }) => deliveries,
    ),
    "revoke key": on("DELETE", ({ keyId }) => `/v2/api-keys/${keyId}`),
    "make one no admin": on("PATCH", role(0), () => ({ role: "read" })),
    "make the other no admin": on("PATCH", role(1), () => ({ role: "read" })),
    "remove one": on("DELETE", role(0)),
    "remove the other": on("DELETE", role(1)),
    "one makes the other no admin": by(0, "PATCH", role(1), { role: "read" }),
    "the other makes one no admin": by(1, "PATCH", role(0), { role: "read" }),
    "the other removes one": by(1, "DELETE", role(0)),
    "list members": on(
      "GET",
      () => "/v2/members",
      undefined,
      ({ resources }) => resources.map(({ role }: { role: string }) => role),
    ),
    "accept invitation": async (call, { invitation }) => {
      const body = { invitation: invitation.token, name: "New" }
      const reply = await call("POST", "/v2/console/invitation", { body, headers: { "x-api-key": "", origin } })
      return [reply.status, reply.body?.code]
    },
    "withdraw invitation": on("DELETE", ({ invitation }) => `/v2/invitations/${invitation.id}`),
  },
  setups: {
    "a workspace": async (world) => {
      const { db, second: call } = world
      const made = async (path: string, body: object) => {
        const reply = await call("POST", path, { body })
        assert.equal(reply.status, 201, reply.text)
        return reply.body
      }
      await db.run(sql`delete from deployments`)
      await db.run(sql`delete from api_keys where name = 'setup'`)
      for (const table of ["integrations", "listeners", "webhooks", "invitations", "members"])
        await db.run(sql`delete from ${identifier(table)}`)
      const name = nextName()
      const invited = async (email: string) => {
        const { id, url } = await made("/v2/invitations", { email, role: "admin" })
        return { id, token: String(url).split("#invitation=")[1] ?? "" }
      }
      const member = async (who: string) => {
        const { token } = await invited(`${who}@example.com`)
        const reply = await call("POST", "/v2/console/invitation", {
          body: { invitation: token, name: who },
          headers: { "x-api-key": "", origin },
        })
        assert.equal(reply.status, 201, reply.text)
        return { personId: String(reply.body.person.person_id), cookie: cookieOf(reply) }
      }
      const webhookId = (await made("/v2/webhooks", { url: "http://127.0.0.1:9/hook" })).id
      const deploymentId = (await made("/v2/deployments", exampleDeployment(name))).id
      await call("PUT", `/v2/deployments/${deploymentId}/previews`, {
        body: { secrets: [{ name: "OLD", value: "v" }] },
      })
      const listenerId = (await made("/v2/listeners", { ...cluster({ name: "setup" } as OnWorkspace) })).id
      await made(`/v2/listeners/${listenerId}/tokens`, { name: "setup" })
      const event = await db.row<{ event_id: string }>(
        sql`select event_id from events where deployment_id = ${deploymentId} and type = 'deployment.created'`,
      )
      // All but one of those that a workspace may have.
      await db.run(sql`
        insert into webhooks (webhook_id, workspace_id, url, event_types, signing_secret_sealed)
        select gen_random_uuid(), workspace_id, url, '{no.event}', signing_secret_sealed
        from webhooks, generate_series(1, 48)`)
      return {
        name,
        deploymentId,
        listenerId,
        webhookId,
        eventId: event?.event_id ?? unknown,
        otherId: (await made("/v2/deployments", exampleDeployment(`${name}-other`))).id,
        integrationId: (await made(github, { name: "setup", host: "github.com", token: "t" })).id,
        keyId: (await made("/v2/api-keys", { name: "setup" })).id,
        members: [await member("ada"), await member("bob")],
        invitation: await invited("new@example.com"),
      }
    },
  },
  always: [
    ["a workspace", "delete listener", "create deployment with both"],
    ["a workspace", "set previews", "get previews"],
    ["a workspace", "one makes the other no admin", "the other makes one no admin"],
    ["a workspace", "one makes the other no admin", "the other removes one"],
    ["a workspace", "delete listener", "create token"],
    ["a workspace", "delete listener", "list tokens"],
    ["a workspace", "create webhook", "create webhook"],
    ["a workspace", "delete webhook", "list deliveries"],
    ["a workspace", "delete webhook", "replay"],
  ],
  leftOf: async (db, { deploymentId, keyId, webhookId }) => [
    await db.rows(
      sql`select integration_id is not null as i, listener_id is not null as l, delete_requested_at is not null as d from deployments order by name`,
    ),
    await db.rows(sql`select deployment_id = ${deploymentId} as own from host_names`),
    await db.rows(sql`select email, role from members join people using (person_id) order by email`),
    await db.rows(sql`select email, role from invitations order by email`),
    await db.row(sql`
      select is_enabled, approve_label, array(select name from preview_secrets p where p.deployment_id = s.deployment_id order by name) as secrets
      from preview_settings s where deployment_id = ${deploymentId}`),
    await db.row(sql`
      select (select count(*) from listener_tokens) as t,
        (select count(*) from webhook_deliveries where webhook_id = ${webhookId}) as d`),
    await db.row(
      sql`select (select count(*) from integrations) as i, (select count(*) from listeners) as l, (select count(*) from webhooks) as w`,
    ),
    await db.row(sql`select revoked_at is not null as revoked from api_keys where api_key_id = ${keyId}`),
  ],
}

test("two requests in a workspace are answered as if one had come after the other", (t) => hunt(t, inWorkspace))

test("two requests on a deployment are answered as if one had come after the other", (t) => hunt(t, onDeployment))

async function hunt<Subject>(
  t: TestContext,
  interleavings: Interleavings<TwoProcesses<Call>, Call, Subject>,
): Promise<void> {
  const options = { consoleOrigins: [origin], webhookSecrets: [new Secret(webhookSecret)] }
  await using api = await startApi(options)
  const place = new BetweenStatements()
  await using outer = await startApi({ ...options, db: place.database(api.db), key: api.key })
  const first: Call = (method, path, call) =>
    place.within(() => outer.call(method, path, { ...call, headers: { "x-api-key": api.apiKey, ...call?.headers } }))
  // It is asked from within a request of the first, and must not take part in that one's entry of the audit log.
  const second: Call = (...call) => outsideOfRequests(api.call, ...call)
  const { tried, odd } = await interleave(interleavings, { db: api.db, first, second, place }, { cases: 8 })
  t.diagnostic(`${tried} interleavings`)
  assert.deepEqual(odd, [])
  assert.ok(tried > 0)
}
