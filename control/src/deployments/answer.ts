/** The common parts of the routes of deployments: the address, the reply, its ETag. */
import { z } from "@hono/zod-openapi"
import type { Database, Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { Context } from "hono"
import { requireScope } from "../access/authenticate.js"
import { uuid } from "../http/fields.js"
import { answerOnce } from "../idempotency/idempotency.js"
import type { DeploymentRules } from "./operations.js"
import type { DeploymentRow } from "./queries.js"
import { etagOf, renderDeployment } from "./render.js"
import type { ResourceTiers } from "./resource-tiers.js"
import { deploymentReply } from "./schema.js"

export interface DeploymentRoutes extends DeploymentRules {
  readonly db: Database
  readonly log: Log
  /** The public address of the edge, without a path. */
  readonly agentsUrl: string
  readonly resourceTiers: ResourceTiers
}

export const onePath = {
  path: "/v2/deployments/{deployment_id}",
  params: z.object({ deployment_id: uuid }),
} as const
export const notFound = { 404: { description: "the workspace has no such deployment" } } as const
export const oneReply = { description: "the deployment", schema: deploymentReply } as const
/** For bodies that may contain secrets. */
export const noScopeOfSecrets = {
  403: { description: "the body contains secrets, and the key lacks the scope secrets" },
} as const
/** The refusals that every change of a deployment shares. */
export const changeRefusals = {
  ...notFound,
  409: { description: "the deployment is being deleted, or a quota of the workspace is exceeded" },
  412: { description: "`If-Match` names another version" },
} as const

export function show(c: Context, row: DeploymentRow, agentsUrl: string) {
  c.header("etag", etagOf(row))
  return renderDeployment(row, agentsUrl)
}

/** The versions in `If-Match`; undefined for `*` or no header. An ETag that is not one of ours matches nothing. */
export function ifMatch(c: Context): number[] | undefined {
  const header = c.req.header("if-match")?.trim()
  if (!header || header === "*") return undefined
  return header.split(",").flatMap((tag) => {
    const version = /^\s*"(\d{1,9})"\s*$/.exec(tag)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}

/**
 * A body that changes secrets needs their scope, on every route (K5). An empty list changes nothing.
 * @throws Forbidden
 */
export function requireScopeOfSecrets(
  c: Context,
  { secrets, mode }: { secrets: readonly unknown[] | null | undefined; mode?: string | null | undefined },
): void {
  if (secrets?.length || mode) requireScope(c, "secrets")
}

/** Does something to a deployment, once for an idempotency key, and answers with its new state. */
export function answerWithDeployment(
  { db, log, agentsUrl }: Pick<DeploymentRoutes, "db" | "log" | "agentsUrl">,
  { c, bodyText, status, done }: { c: Context; bodyText: string; status: 200 | 201; done: string },
  work: (tx: Db) => Promise<DeploymentRow>,
): Promise<Response> {
  const { workspaceId } = c.get("caller")
  return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
    const row = await work(tx)
    const ids = { deployment_id: row.deployment_id, revision_id: row.latest_revision_id }
    return { status, body: show(c, row, agentsUrl), committed: () => log.info(ids, done) }
  })
}
