/** HTTP for what makes and ends revisions on request: a new one, an old one again, an interrupt. */
import { z } from "@hono/zod-openapi"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { actorOf } from "../http/authenticate.js"
import { optionalParameter, text, uuid } from "../http/fields.js"
import { answerOnce } from "../http/idempotency.js"
import { ignoredFieldsOf, tellIgnored } from "../http/ignored-fields.js"
import { interrupt } from "../revisions/operations.js"
import { renderRevision, revisionReply } from "../revisions/schema.js"
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
import { changeFields, configPath, knownParts, secrets } from "./fields.js"
import { redeploy } from "./repeat.js"

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
  addCreateOfProject(api, options)
}

const createBody = z.object(changeFields)
const createQuery = z.object({
  on_conflict: optionalParameter(z.enum(onConflicts)).openapi({
    description: "about a revision in progress: queue behind it, or supersede it; 409 unless given",
  }),
})
const createRefusals = {
  400: { description: "there is nothing to build yet, or a rule of the source forbids it" },
  ...noScopeOfSecrets,
  ...changeRefusals,
  409: { description: "a revision is in progress, which `conflicting_id` has, or the deployment is being deleted" },
  422: { description: "the body is malformed" },
} as const

function addCreate(api: Api, { db, log, ...rules }: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "post",
      path: `${onePath.path}/revisions`,
      params: onePath.params,
      query: createQuery,
      summary: "Makes a revision, of what is named and of what was there before.",
      body: createBody,
      responses: { 201: oneRevision, ...createRefusals },
    },
    ({ c, params, query, body, bodyText }) => {
      requireScopeOfSecrets(c, { secrets: body.secrets, mode: body.secrets_mode })
      const caller = c.get("caller")
      const { workspaceId } = caller
      const wanted = {
        sourceConfig: body.source_config ?? {},
        sourceRevisionConfig: body.source_revision_config ?? {},
        secrets: body.secrets ?? undefined,
        secretsMode: body.secrets_mode ?? undefined,
        onConflict: query.on_conflict,
        expectedVersions: ifMatch(c),
        actor: actorOf(caller),
      }
      tellIgnored(c, ignoredFieldsOf(bodyText, changeFields, knownParts))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await createRevision(tx, rules, { workspaceId, deploymentId: params.deployment_id }, wanted)
        const ids = { deployment_id: row.deployment_id, revision_id: row.revision_id }
        return { status: 201, body: renderRevision(row), committed: () => log.info(ids, "revision created") }
      })
    },
  )
}

function addRedeploy(api: Api, options: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "post",
      path: `${ofRevision.path}/redeploy`,
      params: ofRevision.params,
      summary:
        "Makes a new revision of an old one, down to its commit, secrets and resources; its artefact is used again.",
      body: z.object({}),
      responses: {
        200: oneReply,
        ...changeRefusals,
        ...noRevision,
        409: { description: "it is being deleted, or the revision's secrets are not kept any more" },
      },
    },
    ({ c, params, bodyText }) => {
      const caller = c.get("caller")
      const ids = {
        workspaceId: caller.workspaceId,
        deploymentId: params.deployment_id,
        revisionId: params.revision_id,
      }
      const asked = { expectedVersions: ifMatch(c), actor: actorOf(caller) }
      return answerWithDeployment(options, { c, bodyText, status: 200, done: "redeploy asked for" }, (tx) =>
        redeploy(tx, options, ids, asked),
      )
    },
  )
}

function addInterrupt(api: Api, { db, log }: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "post",
      path: `${ofRevision.path}/interrupt`,
      params: ofRevision.params,
      summary: "Ends a revision that is in progress, until requests reach it; after that, roll back.",
      body: z.object({}),
      responses: {
        202: oneRevision,
        ...noRevision,
        409: { description: "it has ended, or takes requests already" },
      },
    },
    ({ c, params, bodyText }) => {
      const { workspaceId } = c.get("caller")
      const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await interrupt(tx, ids)
        const facts = { deployment_id: row.deployment_id, revision_id: row.revision_id }
        return { status: 202, body: renderRevision(row), committed: () => log.info(facts, "revision interrupted") }
      })
    },
  )
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

/** The first version's way to a new revision; its `shareable` has no meaning here (control-plane §1.7). */
function addCreateOfProject(api: Api, { db, log, ...rules }: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "post",
      path: "/v1/projects/{deployment_id}/revisions",
      params: onePath.params,
      summary: "Makes a revision the way clients of the first version ask for it.",
      body: z.object(projectFields),
      responses: { 201: { description: "the project", schema: projectReply }, ...createRefusals },
    },
    ({ c, params, body, bodyText }) => {
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
      tellIgnored(c, ignoredFieldsOf(bodyText, projectFields))
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
  )
}
