/** HTTP for deployments: parse, call an operation, render. Actions beyond a PATCH are in `action-routes.ts`. */
import { z } from "@hono/zod-openapi"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { actorOf } from "../access/authenticate.js"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { pageOf, pageReply, sendPage } from "../http/page.js"
import {
  answerWithDeployment,
  changeRefusals,
  type DeploymentRoutes,
  ifMatch,
  noScopeOfSecrets,
  notFound,
  onePath,
  oneReply,
  requireScopeOfSecrets,
  show,
} from "./answer.js"
import { patchDeployment } from "./change.js"
import { knownParts } from "./fields.js"
import {
  countFree,
  createDeployment,
  deleteDeployment,
  deleteDeployments,
  findDeployment,
  listDeployments,
} from "./operations.js"
import { renderDeployment } from "./render.js"
import {
  bulkDeleteQuery,
  bulkDeleteReply,
  createBody,
  createFields,
  deleteQuery,
  deploymentReply,
  listQuery,
  patchBody,
  patchFields,
} from "./schema.js"

export function addDeploymentRoutes(api: Api, options: DeploymentRoutes): void {
  addCreate(api, options)
  addList(api, options)
  addBulkDelete(api, options)
  // Before the routes with a deployment's id, which would match this path too.
  addFreeCount(api, options)
  addRead(api, options)
  addPatch(api, options)
  addDelete(api, options)
}

function addCreate(api: Api, options: DeploymentRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v2/deployments",
    summary: "Creates a deployment and its first revision.",
    body: createBody,
    responses: {
      201: oneReply,
      400: { description: "the source does not allow it, or a secret has a reserved name" },
      ...noScopeOfSecrets,
      409: {
        description:
          "the name or the agent's environment is taken (`conflicting_id`), or a quota of the workspace is exceeded",
      },
      422: { description: "the body is malformed" },
    },
    handle: ({ c, body, bodyText }) => {
      requireScopeOfSecrets(c, { secrets: body.secrets })
      const caller = c.get("caller")
      const wanted = {
        name: body.name ?? undefined,
        agent: body.agent,
        source: body.source,
        sourceConfig: body.source_config ?? {},
        sourceRevisionConfig: body.source_revision_config ?? {},
        secrets: body.secrets ?? [],
        message: body.message ?? undefined,
        actor: actorOf(caller),
      }
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, createFields, knownParts))
      return answerWithDeployment(options, { c, bodyText, status: 201, done: "deployment created" }, (tx) =>
        createDeployment(tx, options, caller.workspaceId, wanted),
      )
    },
  })
}

function addList(api: Api, { db, agentsUrl }: DeploymentRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/deployments",
    summary: "Lists the workspace's deployments, newest first; an exact match of the name comes first.",
    query: listQuery,
    responses: { 200: { description: "a page of deployments", schema: pageReply(deploymentReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      // Nothing here has tags, an image version or a remote data plane: a filter by them finds nothing.
      if (query.tag_value_ids?.length || query.image_version || query.remote_reconciled) {
        return sendPage(c, page, { resources: [], total: 0 })
      }
      const filter = {
        workspaceId: c.get("caller").workspaceId,
        name: query.name,
        nameContains: query.name_contains,
        status: query.status,
        deploymentType: query.deployment_type,
        deploymentIds: query.deployment_ids,
        agentId: query.agent_id,
        agentEnvironment: query.agent_environment,
      }
      const { rows, total } = await listDeployments(db, filter, page)
      return sendPage(c, page, { resources: rows.map((row) => renderDeployment(row, agentsUrl)), total })
    },
  })
}

function addFreeCount(api: Api, { db }: DeploymentRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/deployments/free-count",
    summary: "Counts the workspace's deployments of the free types.",
    responses: { 200: { description: "the number of deployments", schema: z.object({ count: z.int() }) } },
    handle: async ({ c }) => c.json({ count: await countFree(db, c.get("caller").workspaceId) }),
  })
}

function addRead(api: Api, { db, agentsUrl }: DeploymentRoutes): void {
  addRoute(api, {
    method: "get",
    ...onePath,
    summary: "Reads a deployment.",
    responses: { 200: oneReply, ...notFound },
    handle: async ({ c, params }) =>
      c.json(show(c, await findDeployment(db, c.get("caller").workspaceId, params.deployment_id), agentsUrl)),
  })
}

function addPatch(api: Api, options: DeploymentRoutes): void {
  addRoute(api, {
    method: "patch",
    ...onePath,
    summary: "Changes a deployment; new code, secrets or resources create a revision.",
    body: patchBody,
    responses: {
      200: oneReply,
      400: { description: "a field cannot be changed, or the source does not allow it" },
      ...noScopeOfSecrets,
      ...changeRefusals,
      422: { description: "the body is malformed" },
    },
    handle: ({ c, params, body, bodyText }) => {
      requireScopeOfSecrets(c, { secrets: body.secrets, mode: body.secrets_mode })
      const caller = c.get("caller")
      const ids = { workspaceId: caller.workspaceId, deploymentId: params.deployment_id }
      const patch = {
        sourceConfig: body.source_config ?? {},
        sourceRevisionConfig: body.source_revision_config ?? {},
        secrets: body.secrets ?? undefined,
        secretsMode: body.secrets_mode ?? undefined,
        displayName: body.display_name ?? undefined,
        unset: body.unset ?? undefined,
        revisionSource: body.revision_source ?? undefined,
        message: body.message ?? undefined,
        expectedVersions: ifMatch(c),
        actor: actorOf(caller),
      }
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, patchFields, knownParts))
      return answerWithDeployment(options, { c, bodyText, status: 200, done: "deployment changed" }, (tx) =>
        patchDeployment(tx, options, ids, patch),
      )
    },
  })
}

function addDelete(api: Api, { db, log }: DeploymentRoutes): void {
  addRoute(api, {
    method: "delete",
    ...onePath,
    summary: "Marks a deployment for deletion, which takes a few moments.",
    query: deleteQuery,
    responses: {
      204: { description: "marked for deletion" },
      400: { description: "`force` for a deployment that is not being deleted" },
      ...notFound,
      412: { description: "`If-Match` names another version" },
    },
    handle: async ({ c, params, query }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      const options = { force: query.force ?? false, expectedVersions: ifMatch(c) }
      await db.transaction((tx) => deleteDeployment(tx, ids, options))
      log.info({ deployment_id: ids.deploymentId }, "deployment marked for deletion")
      return c.body(null, 204)
    },
  })
}

function addBulkDelete(api: Api, { db, log }: DeploymentRoutes): void {
  addRoute(api, {
    method: "delete",
    path: "/v2/deployments",
    summary: "Marks several deployments for deletion.",
    query: bulkDeleteQuery,
    responses: {
      200: { description: "all are marked for deletion", schema: bulkDeleteReply },
      207: { description: "some are not; with the reason for each", schema: bulkDeleteReply },
      422: { description: "no ids, more than 100, or an invalid id" },
    },
    handle: async ({ c, query }) => {
      const wanted = { workspaceId: c.get("caller").workspaceId, deploymentIds: query.deployment_ids }
      const results = await deleteDeployments(db, wanted, { force: query.force ?? false })
      for (const { id, status } of results) {
        if (status === 204) log.info({ deployment_id: id }, "deployment marked for deletion")
      }
      return c.json({ results }, results.every(({ status }) => status === 204) ? 200 : 207)
    },
  })
}
