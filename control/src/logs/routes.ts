/** HTTP for logs: v2 by query, and the three v1 addresses that both CLIs use. */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { findDeployment } from "../deployments/operations.js"
import { uuid } from "../http/fields.js"
import { findRevision } from "../revisions/operations.js"
import { type LogPage, readLog } from "./operations.js"
import type { LogFilter } from "./queries.js"
import { logsBody, logsQuery, logsReply, renderLogPage } from "./schema.js"

const responses = {
  200: { description: "a page of lines", schema: logsReply },
  404: { description: "the workspace has no such deployment, or the deployment no such revision" },
} as const

const defaultLimit = 50

export function addLogRoutes(api: Api, { db }: { db: Db }): void {
  addRoute(
    api,
    {
      method: "get",
      path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/logs",
      summary: "Reads what a revision's build or its units said.",
      params: z.object({ deployment_id: uuid, revision_id: uuid }),
      query: logsQuery,
      responses,
    },
    async ({ c, params, query }) => {
      const { workspaceId } = c.get("caller")
      const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
      return c.json(renderLogPage(await page(db, { ...ids, stream: query.type, ...filterOf(query) })))
    },
  )
  for (const stream of ["build", "deploy"] as const) {
    addRoute(
      api,
      {
        method: "post",
        path: `/v1/projects/{deployment_id}/revisions/{revision_id}/${stream}_logs`,
        summary: `Reads a revision's ${stream} log the way the CLIs ask for it.`,
        params: z.object({ deployment_id: uuid, revision_id: uuid }),
        body: logsBody,
        responses,
      },
      async ({ c, params, body }) => {
        const { workspaceId } = c.get("caller")
        const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
        return c.json(renderLogPage(await page(db, { ...ids, stream, ...filterOf(body) })))
      },
    )
  }
  addRoute(
    api,
    {
      method: "post",
      path: "/v1/projects/{deployment_id}/deploy_logs",
      summary: "Reads what the units of all revisions said, the way the CLIs ask for it.",
      params: z.object({ deployment_id: uuid }),
      body: logsBody,
      responses,
    },
    async ({ c, params, body }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      return c.json(renderLogPage(await page(db, { ...ids, stream: "deploy", ...filterOf(body) })))
    },
  )
}

const filterOf = (asked: z.output<typeof logsBody>) => ({
  order: asked.order ?? "asc",
  limit: asked.limit ?? defaultLimit,
  after: asked.offset ?? undefined,
  startTime: asked.start_time ?? undefined,
  endTime: asked.end_time ?? undefined,
  level: asked.level ?? undefined,
  query: asked.query ?? undefined,
})

/** An unknown deployment or revision is a 404, not an empty log. */
async function page(db: Db, filter: LogFilter): Promise<LogPage> {
  const { workspaceId, deploymentId, revisionId } = filter
  await findDeployment(db, workspaceId, deploymentId)
  if (revisionId) await findRevision(db, { workspaceId, deploymentId, revisionId })
  return readLog(db, filter)
}
