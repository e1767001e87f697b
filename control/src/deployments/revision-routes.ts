/** HTTP that creates and ends revisions on request: a new one, an old one again, an interrupt. */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { actorOf } from "../access/authenticate.js"
import { optionalParameter, text, uuid } from "../http/fields.js"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { answerOnce } from "../idempotency/idempotency.js"
import { interrupt } from "../revisions/operations.js"
import { renderRevision, revisionReply } from "../revisions/schema.js"
import { configPath } from "../revisions/source-revision-config.js"
import {
  answerWithDeployment,
  changeRefusals,
  type DeploymentRoutes,
  ifMatch,
  noScopeOfSecrets,
  onePath,
  oneReply,
  requireScopeOfSecrets,
} from "./answer.js"
import { createRevision, onConflicts } from "./change.js"
import { changeFields, knownParts, message, secrets } from "./fields.js"
import { redeploy } from "./repeat.js"
import { abort, promote, type RevisionIds, setTraffic } from "./traffic.js"

const oneRevision = { description: "the revision", schema: revisionReply } as const
const ofRevision = {
  path: `${onePath.path}/revisions/{revision_id}`,
  params: z.object({ deployment_id: uuid, revision_id: uuid }),
} as const
const noRevision = { 404: { description: "the workspace has no such deployment, or the deployment no such revision" } }

export function addRevisionActions(api: Api, options: DeploymentRoutes): void {
  addCreate(api, options)
  addRedeploy(api, options)
  addInterrupt(api, options)
  addTraffic(api, options)
  addCreateOfProject(api, options)
}

const createBody = z.object(changeFields)
const createQuery = z.object({
  on_conflict: optionalParameter(z.enum(onConflicts)).openapi({
    description: "what to do when a revision is in progress: queue behind it, or supersede it; 409 by default",
  }),
})
const createRefusals = {
  400: { description: "there is nothing to build yet, or the source does not allow it" },
  ...noScopeOfSecrets,
  ...changeRefusals,
  409: { description: "a revision is in progress (`conflicting_id`), or the deployment is being deleted" },
  422: { description: "the body is malformed" },
} as const

function addCreate(api: Api, { db, log, ...rules }: DeploymentRoutes): void {
  addRoute(api, {
    method: "post",
    path: `${onePath.path}/revisions`,
    params: onePath.params,
    query: createQuery,
    summary: "Creates a revision; fields that are not given keep their previous values.",
    body: createBody,
    responses: { 201: oneRevision, ...createRefusals },
    handle: ({ c, params, query, body, bodyText }) => {
      requireScopeOfSecrets(c, { secrets: body.secrets, mode: body.secrets_mode })
      const caller = c.get("caller")
      const { workspaceId } = caller
      const wanted = {
        sourceConfig: body.source_config ?? {},
        sourceRevisionConfig: body.source_revision_config ?? {},
        secrets: body.secrets ?? undefined,
        secretsMode: body.secrets_mode ?? undefined,
        onConflict: query.on_conflict,
        message: body.message ?? undefined,
        expectedVersions: ifMatch(c),
        actor: actorOf(caller),
      }
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, changeFields, knownParts))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await createRevision(tx, rules, { workspaceId, deploymentId: params.deployment_id }, wanted)
        const ids = { deployment_id: row.deployment_id, revision_id: row.revision_id }
        return { status: 201, body: renderRevision(row), committed: () => log.info(ids, "revision created") }
      })
    },
  })
}

const redeployBody = z.object({ message })

function addRedeploy(api: Api, options: DeploymentRoutes): void {
  addRoute(api, {
    method: "post",
    path: `${ofRevision.path}/redeploy`,
    params: ofRevision.params,
    summary:
      "Creates a revision that repeats an earlier one: the same commit, secrets and resources, with the same artifact.",
    body: redeployBody,
    responses: {
      200: oneReply,
      ...changeRefusals,
      ...noRevision,
      409: { description: "the deployment is being deleted, or the revision's secrets are deleted" },
    },
    handle: ({ c, params, body, bodyText }) => {
      const caller = c.get("caller")
      const ids = {
        workspaceId: caller.workspaceId,
        deploymentId: params.deployment_id,
        revisionId: params.revision_id,
      }
      const asked = { message: body.message ?? undefined, expectedVersions: ifMatch(c), actor: actorOf(caller) }
      return answerWithDeployment(options, { c, bodyText, status: 200, done: "redeploy requested" }, (tx) =>
        redeploy(tx, options, ids, asked),
      )
    },
  })
}

function addInterrupt(api: Api, { db, log }: DeploymentRoutes): void {
  addRoute(api, {
    method: "post",
    path: `${ofRevision.path}/interrupt`,
    params: ofRevision.params,
    summary: "Interrupts a revision in progress; possible until it receives requests, after that roll back.",
    body: z.object({}),
    responses: {
      202: oneRevision,
      ...noRevision,
      409: { description: "the revision has ended, or receives requests already" },
    },
    handle: ({ c, params, bodyText }) => {
      const { workspaceId } = c.get("caller")
      const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await interrupt(tx, ids)
        const facts = { deployment_id: row.deployment_id, revision_id: row.revision_id }
        return { status: 202, body: renderRevision(row), committed: () => log.info(facts, "revision interrupted") }
      })
    },
  })
}

const trafficBody = z.object({
  weight: z.int().min(1).max(99).openapi({ description: "the percentage of the threads that it gets" }),
})
const notACanary = {
  409: { description: "it is not a canary, or is being promoted, or the deployment is being deleted" },
}

function addTraffic(api: Api, { db, log }: DeploymentRoutes): void {
  const actions = [
    {
      name: "traffic",
      summary: "Gives a canary another percentage of the threads; no thread leaves it when that is larger.",
      body: trafficBody,
      act: (tx: Db, ids: RevisionIds, { weight }: { weight?: number }) => setTraffic(tx, ids, weight ?? 0),
    },
    {
      name: "promote",
      summary: "Lets a canary take over: it gets all threads and all requests.",
      body: z.object({}),
      act: (tx: Db, ids: RevisionIds) => promote(tx, ids),
    },
    {
      name: "abort",
      summary: "Takes all threads from a canary; the revision that serves goes on with them.",
      body: z.object({}),
      act: (tx: Db, ids: RevisionIds) => abort(tx, ids),
    },
  ] as const
  for (const { name, summary, body, act } of actions) {
    addRoute(api, {
      method: "post",
      path: `${ofRevision.path}/${name}`,
      params: ofRevision.params,
      summary,
      body: body as z.ZodType<{ weight?: number }>,
      responses: { 200: oneRevision, ...noRevision, ...notACanary, 422: { description: "the body is malformed" } },
      handle: ({ c, params, body, bodyText }) => {
        const { workspaceId } = c.get("caller")
        const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
        return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
          const row = await act(tx, ids, body)
          const facts = {
            deployment_id: row.deployment_id,
            revision_id: row.revision_id,
            action: name,
            weight: row.weight,
          }
          return { status: 200, body: renderRevision(row), committed: () => log.info(facts, "traffic changed") }
        })
      },
    })
  }
}

const projectFields = {
  repo_path: configPath.nullish().openapi({ description: "of langgraph.json" }),
  env_vars: z
    .array(secrets.element.extend({ type: text.nullish() }))
    .max(500)
    .nullish(),
}
const projectReply = z.object({
  status: z.string(),
  resource: z.object({
    id: z.string(),
    latest_revision: z.object({ hosted_langserve_revision_id: z.string(), status: z.string() }),
  }),
})

/** The way to create a revision in the API's first version; its `shareable` has no meaning here (control-plane §1.7). */
function addCreateOfProject(api: Api, { db, log, ...rules }: DeploymentRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v1/projects/{deployment_id}/revisions",
    params: onePath.params,
    summary: "Creates a revision; the form that clients of the first API version use.",
    body: z.object(projectFields),
    responses: { 201: { description: "the project", schema: projectReply }, ...createRefusals },
    handle: ({ c, params, body, bodyText }) => {
      requireScopeOfSecrets(c, { secrets: body.env_vars })
      const caller = c.get("caller")
      const { workspaceId } = caller
      const wanted = {
        sourceConfig: {},
        sourceRevisionConfig: { langgraph_config_path: body.repo_path },
        secrets: body.env_vars?.map(({ name, value }) => ({ name, value })),
        onConflict: undefined,
        actor: actorOf(caller),
      }
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, projectFields))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await createRevision(tx, rules, { workspaceId, deploymentId: params.deployment_id }, wanted)
        const { deployment_id: id, revision_id, status } = row
        const latest_revision = { hosted_langserve_revision_id: revision_id, status }
        return {
          status: 201,
          body: { status, resource: { id, latest_revision } },
          committed: () => log.info({ deployment_id: id, revision_id }, "revision created"),
        }
      })
    },
  })
}
