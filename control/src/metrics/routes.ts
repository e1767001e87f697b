/** HTTP for metrics: a deployment's chart for its workspace, and Prometheus' text for the operator. */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { addressKind } from "@superstep/toolkit/webhooks/addresses"
import type { Context } from "hono"
import { findDeployment } from "../deployments/operations.js"
import type { Tally } from "../edge/tallies.js"
import { peerAddress } from "../http/caller-address.js"
import { uuid } from "../http/fields.js"
import { deploymentMetrics, isOperator, operatorView } from "./operations.js"
import { prometheusText } from "./prometheus.js"
import { metricsQuery, metricsReply, renderMetrics } from "./schema.js"

interface MetricsRoutes {
  readonly db: Db
  readonly edgeTallies: () => Promise<Readonly<Record<string, Tally>>>
}

const usualWindowMs = 900_000

export function addMetricsRoutes(api: Api, { db, edgeTallies }: MetricsRoutes): void {
  addRoute(
    api,
    {
      method: "get",
      path: "/v2/deployments/{deployment_id}/metrics",
      summary: "Reads what a deployment's units use and what the edge answered for it, in steps.",
      params: z.object({ deployment_id: uuid }),
      query: metricsQuery,
      responses: {
        200: { description: "the chart", schema: metricsReply },
        404: { description: "the workspace has no such deployment" },
      },
    },
    async ({ c, params, query }) => {
      const windowMs = query.window ?? usualWindowMs
      await findDeployment(db, c.get("caller").workspaceId, params.deployment_id)
      return c.json(renderMetrics(await deploymentMetrics(db, params.deployment_id, windowMs), windowMs))
    },
  )
  api.get("/metrics", async (c) => {
    await requireOperator(db, c)
    const text = prometheusText(await operatorView(db, edgeTallies))
    return c.body(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
  })
}

/**
 * It shows every workspace: for a key of the installation, or a caller on this very machine.
 * @throws Unauthenticated
 */
async function requireOperator(db: Db, c: Context): Promise<void> {
  const key = c.req.header("x-api-key") ?? /^Bearer (\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1]
  if (key !== undefined && (await isOperator(db, key))) return
  if (key === undefined && isLocal(c)) return
  throw new Unauthenticated("metrics of the installation take a key of it, in X-Api-Key or as a bearer token")
}

// A page whose name was turned to this machine asks under that name.
const localHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

/** A proxy on this machine speaks for others, and says so. A browser's page is not the operator either. */
function isLocal(c: Context): boolean {
  const peer = peerAddress(c)
  if (peer === undefined || addressKind(peer) !== "loopback") return false
  if (!localHost.test(c.req.header("host") ?? "")) return false
  return !["x-forwarded-for", "forwarded", "via", "origin"].some((name) => c.req.header(name) !== undefined)
}
