/** HTTP for deployments: parse, call an operation, render. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import type { Context } from "hono"
import { uuid } from "../http/fields.js"
import { answerOnce } from "../http/idempotency.js"
import { ignoredFields, tellIgnored } from "../http/ignored-fields.js"
import { pageOf, pageReply, sendPage } from "../http/page.js"
import type { DeploymentRules } from "./operations.js"
import { createDeployment, deleteDeployment, findDeployment, listDeployments, patchDeployment } from "./operations.js"
import type { DeploymentRow } from "./queries.js"
import { etagOf, renderDeployment } from "./render.js"
import {
  createBody,
  createFields,
  deleteQuery,
  deploymentReply,
  knownParts,
  listQuery,
  patchBody,
  patchFields,
} from "./schema.js"

export interface DeploymentRoutes extends DeploymentRules {
  readonly db: Database
  readonly log: Log
  /** Where the edge is reached from outside, without a path. */
  readonly agentsUrl: string
}

const onePath = { path: "/v2/deployments/{deployment_id}", params: z.object({ deployment_id: uuid }) } as const
const notFound = { 404: { description: "the workspace has no such deployment" } } as const
const oneReply = { description: "the deployment", schema: deploymentReply } as const

export function addDeploymentRoutes(api: Api, options: DeploymentRoutes): void {
  addCreate(api, options)
  addList(api, options)
  addRead(api, options)
  addPatch(api, options)
  addDelete(api, options)
}

function addCreate(api: Api, { db, log, agentsUrl, ...rules }: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "post",
      path: "/v2/deployments",
      summary: "Creates a deployment and its first revision.",
      body: createBody,
      responses: {
        201: oneReply,
        400: { description: "a rule of the source or a reserved name forbids it" },
        409: { description: "the name is taken; `conflicting_id` has it" },
        422: { description: "the body is malformed" },
      },
    },
    async ({ c, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      const wanted = {
        name: body.name,
        source: body.source,
        sourceConfig: body.source_config ?? {},
        sourceRevisionConfig: body.source_revision_config ?? {},
        secrets: body.secrets ?? [],
      }
      tellIgnored(c, ignoredFields(JSON.parse(bodyText), createFields, knownParts))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await createDeployment(tx, rules, workspaceId, wanted)
        const ids = { deployment_id: row.deployment_id, revision_id: row.latest_revision_id }
        return {
          status: 201,
          body: show(c, row, agentsUrl),
          committed: () => log.info(ids, "deployment created"),
        }
      })
    },
  )
}

function addList(api: Api, { db, agentsUrl }: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "get",
      path: "/v2/deployments",
      summary: "Lists the workspace's deployments: an exact name first, then newest first.",
      query: listQuery,
      responses: { 200: { description: "a page of deployments", schema: pageReply(deploymentReply) } },
    },
    async ({ c, query }) => {
      const page = pageOf(query)
      // Nothing here has tags, knows its image's version or lives in a remote data plane: asked for, none is found.
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
      }
      const { rows, total } = await listDeployments(db, filter, page)
      return sendPage(c, page, { resources: rows.map((row) => renderDeployment(row, agentsUrl)), total })
    },
  )
}

function addRead(api: Api, { db, agentsUrl }: DeploymentRoutes): void {
  addRoute(
    api,
    { method: "get", ...onePath, summary: "Reads a deployment.", responses: { 200: oneReply, ...notFound } },
    async ({ c, params }) =>
      c.json(show(c, await findDeployment(db, c.get("caller").workspaceId, params.deployment_id), agentsUrl)),
  )
}

function addPatch(api: Api, { db, log, agentsUrl, ...rules }: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "patch",
      ...onePath,
      summary: "Changes a deployment; new code, secrets or resources make a revision.",
      body: patchBody,
      responses: {
        200: oneReply,
        400: { description: "a field is fixed, or a rule of the source forbids it" },
        ...notFound,
        409: { description: "it is being deleted" },
        412: { description: "`If-Match` names another version" },
        422: { description: "the body is malformed" },
      },
    },
    async ({ c, params, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      const patch = {
        sourceConfig: body.source_config ?? {},
        sourceRevisionConfig: body.source_revision_config ?? {},
        secrets: body.secrets ?? [],
        displayName: body.display_name ?? undefined,
        revisionSource: body.revision_source ?? undefined,
        expectedVersions: ifMatch(c),
      }
      if (bodyText.trim() !== "") tellIgnored(c, ignoredFields(JSON.parse(bodyText), patchFields, knownParts))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await patchDeployment(tx, rules, { workspaceId, deploymentId: params.deployment_id }, patch)
        const ids = { deployment_id: row.deployment_id, revision_id: row.latest_revision_id }
        return {
          status: 200,
          body: show(c, row, agentsUrl),
          committed: () => log.info(ids, "deployment changed"),
        }
      })
    },
  )
}

function addDelete(api: Api, { db, log }: DeploymentRoutes): void {
  addRoute(
    api,
    {
      method: "delete",
      ...onePath,
      summary: "Marks a deployment for deletion; a moment later it is gone.",
      query: deleteQuery,
      responses: {
        204: { description: "marked; nothing to read" },
        400: { description: "`force` on one that is not being deleted" },
        ...notFound,
        412: { description: "`If-Match` names another version" },
      },
    },
    async ({ c, params, query }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      const options = { force: query.force ?? false, expectedVersions: ifMatch(c) }
      await db.transaction((tx) => deleteDeployment(tx, ids, options))
      log.info({ deployment_id: ids.deploymentId }, "deployment marked for deletion")
      return c.body(null, 204)
    },
  )
}

function show(c: Context, row: DeploymentRow, agentsUrl: string) {
  c.header("etag", etagOf(row))
  return renderDeployment(row, agentsUrl)
}

/** The versions that `If-Match` names; undefined for `*` or no header. What is no version of ours matches nothing. */
function ifMatch(c: Context): number[] | undefined {
  const header = c.req.header("if-match")?.trim()
  if (!header || header === "*") return undefined
  return header.split(",").flatMap((tag) => {
    const version = /^\s*"(\d{1,9})"\s*$/.exec(tag)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}
