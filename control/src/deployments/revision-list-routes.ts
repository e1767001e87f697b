/** HTTP that reads revisions. `revision-routes.ts` creates and ends them. */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { optionalParameter, uuid } from "../http/fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
import { findRevision, listRevisions } from "../revisions/operations.js"
import { revisionStatuses } from "../revisions/revision.js"
import { renderRevision, revisionReply } from "../revisions/schema.js"
import { findDeployment } from "./operations.js"

export function addRevisionRoutes(api: Api, { db }: { db: Db }): void {
  addRoute(api, {
    method: "get",
    path: "/v2/deployments/{deployment_id}/revisions",
    summary: "Lists a deployment's revisions, newest first.",
    params: z.object({ deployment_id: uuid }),
    query: z.object({ ...pageQuery, status: optionalParameter(z.enum(revisionStatuses)) }),
    responses: {
      200: { description: "a page of revisions", schema: pageReply(revisionReply) },
      404: { description: "the workspace has no such deployment" },
    },
    handle: async ({ c, params, query }) => {
      const { workspaceId } = c.get("caller")
      await findDeployment(db, workspaceId, params.deployment_id)
      const page = pageOf(query)
      const filter = { workspaceId, deploymentId: params.deployment_id, status: query.status }
      const { rows, total } = await listRevisions(db, filter, page)
      return sendPage(c, page, { resources: rows.map(renderRevision), total })
    },
  })

  addRoute(api, {
    method: "get",
    path: "/v2/deployments/{deployment_id}/revisions/{revision_id}",
    summary: "Reads one revision: poll it until its status is DEPLOYED or contains FAILED.",
    params: z.object({ deployment_id: uuid, revision_id: uuid }),
    responses: {
      200: { description: "the revision", schema: revisionReply },
      404: { description: "the workspace has no such deployment, or the deployment no such revision" },
    },
    handle: async ({ c, params }) => {
      const { workspaceId } = c.get("caller")
      await findDeployment(db, workspaceId, params.deployment_id)
      const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
      return c.json(renderRevision(await findRevision(db, ids)))
    },
  })

  // The lists of the API's first version are bare arrays with short entries (control-plane §1.7).
  const projectRevision = z.object({ id: z.string(), status: z.string(), status_message: z.string().nullable() })
  addRoute(api, {
    method: "get",
    path: "/v1/projects/{deployment_id}/revisions",
    summary: "Lists a deployment's revisions; the form that clients of the first API version expect.",
    params: z.object({ deployment_id: uuid }),
    query: z.object(pageQuery),
    responses: {
      200: { description: "revisions, newest first", schema: z.array(projectRevision) },
      404: { description: "the workspace has no such deployment" },
    },
    handle: async ({ c, params, query }) => {
      const { workspaceId } = c.get("caller")
      await findDeployment(db, workspaceId, params.deployment_id)
      const { rows } = await listRevisions(db, { workspaceId, deploymentId: params.deployment_id }, pageOf(query))
      return c.json(rows.map(({ revision_id: id, status, status_message }) => ({ id, status, status_message })))
    },
  })
}
