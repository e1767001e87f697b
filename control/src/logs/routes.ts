/** HTTP for logs: v2 by query, and the three v1 addresses that both CLIs use. */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { uuid } from "../http/fields.js"
import { findRevision } from "../revisions/operations.js"
import type { LogScope } from "./cursor.js"
import { type AskedLog, type LogPage, readLog } from "./operations.js"
import {
  deploymentLogsQuery,
  deploymentLogsReply,
  logsBody,
  logsQuery,
  logsReply,
  renderLine,
  renderLogPage,
} from "./schema.js"

const notFound = { description: "the workspace has no such deployment, or the deployment no such revision" }
const malformed = { description: "a parameter is malformed, or the cursor belongs to another log" }
const responses = { 200: { description: "a page of lines", schema: logsReply }, 404: notFound, 422: malformed } as const

const defaultLimit = 50
const defaultPageSize = 20

/** Where logs are, and whose they are. */
export interface Logs {
  readonly db: Db
  /** @throws NotFound  the workspace has no such deployment */
  readonly findDeployment: (db: Db, workspaceId: string, deploymentId: string) => Promise<unknown>
}

export function addLogRoutes(api: Api, logs: Logs): void {
  addRevisionLogs(api, logs)
  addDeploymentLogs(api, logs)
  addLogsOfTheClis(api, logs)
}

function addRevisionLogs(api: Api, logs: Logs): void {
  addRoute(api, {
    method: "get",
    path: "/v2/deployments/{deployment_id}/revisions/{revision_id}/logs",
    summary: "Returns the log of a revision's build or of its units.",
    params: z.object({ deployment_id: uuid, revision_id: uuid }),
    query: logsQuery,
    responses,
    handle: async ({ c, params, query }) => {
      const { workspaceId } = c.get("caller")
      const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
      return c.json(renderLogPage(await page(logs, { ...ids, stream: query.type, ...filterOf(query, "query") })))
    },
  })
}

function addDeploymentLogs(api: Api, logs: Logs): void {
  addRoute(api, {
    method: "get",
    path: "/v2/deployment-logs",
    summary: "Returns the log of a deployment's builds or units, newest first by default.",
    query: deploymentLogsQuery,
    responses: { ...responses, 200: { description: "a page of lines", schema: deploymentLogsReply } },
    handle: async ({ c, query }) => {
      const { rows, nextCursor } = await page(logs, {
        workspaceId: c.get("caller").workspaceId,
        deploymentId: query.deployment_id,
        revisionId: query.revision_id,
        stream: query.log_type === "BUILD" ? "build" : "deploy",
        order: query.sort_order ?? "desc",
        limit: query.page_size ?? defaultPageSize,
        cursor: query.cursor === undefined ? undefined : { text: query.cursor, path: ["query", "cursor"] },
        ...linesOf(query),
      })
      return c.json({ items: rows.map(renderLine), next_cursor: nextCursor })
    },
  })
}

function addLogsOfTheClis(api: Api, logs: Logs): void {
  for (const stream of ["build", "deploy"] as const) {
    addRoute(api, {
      method: "post",
      path: `/v1/projects/{deployment_id}/revisions/{revision_id}/${stream}_logs`,
      summary: `Returns a revision's ${stream} log, in the form that the CLIs use.`,
      params: z.object({ deployment_id: uuid, revision_id: uuid }),
      body: logsBody,
      responses,
      handle: async ({ c, params, body }) => {
        const { workspaceId } = c.get("caller")
        const ids = { workspaceId, deploymentId: params.deployment_id, revisionId: params.revision_id }
        return c.json(renderLogPage(await page(logs, { ...ids, stream, ...filterOf(body, "body") })))
      },
    })
  }
  addRoute(api, {
    method: "post",
    path: "/v1/projects/{deployment_id}/deploy_logs",
    summary: "Returns the log of the units of all revisions, in the form that the CLIs use.",
    params: z.object({ deployment_id: uuid }),
    body: logsBody,
    responses,
    handle: async ({ c, params, body }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      return c.json(renderLogPage(await page(logs, { ...ids, stream: "deploy", ...filterOf(body, "body") })))
    },
  })
}

type Asked = z.output<typeof logsBody>

const filterOf = (asked: Asked, where: "query" | "body") => ({
  order: asked.order ?? "asc",
  limit: asked.limit ?? defaultLimit,
  cursor: asked.offset ? { text: asked.offset, path: [where, "offset"] } : undefined,
  ...linesOf(asked),
})

const linesOf = (asked: Pick<Asked, "start_time" | "end_time" | "level" | "query" | "run_id" | "hide_platform">) => ({
  startTime: asked.start_time ?? undefined,
  endTime: asked.end_time ?? undefined,
  level: asked.level ?? undefined,
  query: asked.query ?? undefined,
  runId: asked.run_id ?? undefined,
  hidesPlatform: asked.hide_platform ?? undefined,
})

async function page(logs: Logs, asked: AskedLog): Promise<LogPage> {
  await findLog(logs, asked.workspaceId, asked)
  return readLog(logs.db, asked)
}

/** An unknown deployment or revision is a 404, not an empty log. @throws NotFound */
export async function findLog(
  { db, findDeployment }: Logs,
  workspaceId: string,
  { deploymentId, revisionId }: LogScope,
): Promise<void> {
  await findDeployment(db, workspaceId, deploymentId)
  if (revisionId) await findRevision(db, { workspaceId, deploymentId, revisionId })
}
