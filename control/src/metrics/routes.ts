/** HTTP for metrics: a deployment's chart for its workspace, and Prometheus' text for the operator. */
import { z } from "@hono/zod-openapi"
import type { Edge } from "@superstep/edge/port"
import type { Tally } from "@superstep/edge/tallies"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { findDeployment } from "../deployments/operations.js"
import { uuid } from "../http/fields.js"
import { type Place, watchLoopLag } from "./machine.js"
import { deploymentMetrics, isOperator, operatorView } from "./operations.js"
import { prometheusText } from "./prometheus.js"
import type { RunSample } from "./run-sample.js"
import { metricsQuery, metricsReply, renderMetrics } from "./schema.js"

interface MetricsRoutes {
  readonly db: Database
  readonly edgeTallies: () => Promise<Readonly<Record<string, Tally>>>
  readonly edgeTables: Edge["tables"]
  readonly runTotals: () => readonly RunSample[]
  readonly place: Place
}

const usualWindowMs = 900_000

export function addMetricsRoutes(api: Api, options: MetricsRoutes): void {
  const { db } = options
  const loopLag = watchLoopLag()
  addRoute(api, {
    method: "get",
    path: "/v2/deployments/{deployment_id}/metrics",
    summary:
      "Returns the resource use of a deployment's units, the edge's answer counts and what models used in time steps, and how runs ended by revision.",
    params: z.object({ deployment_id: uuid }),
    query: metricsQuery,
    responses: {
      200: { description: "the chart", schema: metricsReply },
      404: { description: "the workspace has no such deployment" },
    },
    handle: async ({ c, params, query }) => {
      const windowMs = query.window ?? usualWindowMs
      await findDeployment(db, c.get("caller").workspaceId, params.deployment_id)
      return c.json(renderMetrics(await deploymentMetrics(db, params.deployment_id, windowMs), windowMs))
    },
  })
  api.get("/metrics", async (c) => {
    await requireOperator(db, c)
    const text = prometheusText(await operatorView({ ...options, loopLag }))
    return c.body(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
  })
}

/** The text shows every workspace. @throws Unauthenticated  without a key of the installation */
async function requireOperator(db: Db, c: Context): Promise<void> {
  const key = c.req.header("x-api-key") ?? /^Bearer (\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1]
  if (key !== undefined && (await isOperator(db, key))) return
  throw new Unauthenticated(
    "metrics of the installation require a key of the installation (org_api_key in credentials.json), in X-Api-Key or as a bearer token",
  )
}
