/** Pairs of requests on what a workspace has at the same moment. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import type { Interleavings, Request } from "@superstep/toolkit/testing/interleavings"
import { cookieOf, fromPage, origin } from "../console/testing/sign-in.js"
import { exampleDeployment } from "../testing/api.js"
import {
  type Call,
  interleaveApis,
  type Keep,
  nextName,
  request,
  type TwoApis,
  unknown,
} from "../testing/interleavings.js"

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

const inWorkspace: Interleavings<TwoApis, Call, OnWorkspace> = {
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

test("two requests in a workspace are answered as if one had come after the other", (t) =>
  interleaveApis(t, inWorkspace, { consoleOrigins: [origin] }))
