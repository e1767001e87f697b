/** Pairs of requests on a deployment at the same moment. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Interleavings } from "@superstep/toolkit/testing/interleavings"
import { signedPush } from "../pushes/testing/deliveries.js"
import { exampleDeployment } from "../testing/api.js"
import {
  type Call,
  interleaveApis,
  nextName,
  request,
  type TwoApis,
  unknown,
  webhookSecret,
} from "../testing/interleavings.js"

interface Subject {
  readonly name: string
  readonly deploymentId: string
  /** The newest revision of the setup, and the one that serves. */
  readonly newest: string
  readonly serving: string
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

const requests: Interleavings<TwoApis, Call, Subject>["requests"] = {
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

/** The only deployment: the quotas would not let all cases have theirs. */
async function created({ db, second: call }: TwoApis, config: object = {}): Promise<Subject> {
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

const onDeployment: Interleavings<TwoApis, Call, Subject> = {
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

test("two requests on a deployment are answered as if one had come after the other", (t) =>
  interleaveApis(t, onDeployment))
