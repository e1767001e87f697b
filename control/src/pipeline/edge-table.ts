/** Brings the edge's table to what the database says. */
import { createHash } from "node:crypto"
import { Conflict } from "@superstep/toolkit/errors/errors"
import type { Table } from "../edge/table.js"
import { type CallerKeys, keyHashes } from "../workspaces/queries.js"
import type { PipelineContext } from "./context.js"
import { lockEdgeTable, type RouteRow, saveEdgeTable, servingRoutes } from "./queries.js"
import { unitToken } from "./unit.js"

type PlacedRow = RouteRow & { readonly token: string; readonly socketPath: string }

/**
 * Pure.
 * @param keys               hashes of the keys that may call, by workspace
 * @param requestsPerSecond  most that a deployment in production gets; 0 for no limit
 */
export function routesOf(
  rows: readonly PlacedRow[],
  keys: ReadonlyMap<string, CallerKeys>,
  requestsPerSecond = 0,
): Table["routes"] {
  const routes = new Map<string, Table["routes"][number]>()
  for (const row of rows.filter(({ state }) => state === "serving")) {
    const { name, deployment_id, revision_id } = row
    const ofDeployment = rows.filter((it) => it.deployment_id === deployment_id)
    const units = ofDeployment.filter(({ state, is_ready }) => state === "serving" && is_ready).map(unitOf)
    routes.set(deployment_id, {
      name,
      deployment_id,
      revision_id,
      keys: [...(keys.get(row.workspace_id)?.run ?? [])],
      read_keys: [...(keys.get(row.workspace_id)?.read ?? [])],
      units,
      standby: ofDeployment.filter(({ state }) => state === "draining").map(unitOf),
      state: stateOf(row, units.length),
      ...(row.cross_origin && { cors: row.cross_origin }),
      ...(row.deployment_type === "prod" && requestsPerSecond > 0 && { max_requests_per_second: requestsPerSecond }),
    })
  }
  return [...routes.values()]
}

const unitOf = (row: PlacedRow) => ({ unit_id: row.unit_id, socket_path: row.socketPath, token: row.token })

function stateOf({ is_paused, is_refused }: RouteRow, units: number): Table["routes"][number]["state"] {
  if (is_paused) return "paused"
  if (units > 0) return "serving"
  return is_refused ? "full" : "held"
}

/**
 * Pushes the table when its content is new or the edge has an older one. When this returns, every new request goes
 * where the database says.
 * @throws Unavailable  the edge does not answer
 */
export async function syncEdge(context: PipelineContext): Promise<void> {
  const { edge } = context
  const known = (await edge.status()).generation
  const table = await currentTable(context, known)
  if (table.generation === known) return
  context.crashPoint("table:after-row")
  await edge.push(table).catch((error: unknown) => {
    // Another push was quicker and newer; what it brought includes ours.
    if (!(error instanceof Conflict)) throw error
  })
  context.log.debug({ generation: table.generation, routes: table.routes.length }, "table pushed")
}

/** The table with its number, which rises with each change and is never below the edge's own. */
async function currentTable(context: PipelineContext, edgeGeneration: number): Promise<Table> {
  return context.db.transaction(async (tx) => {
    // Locked first: of two who read and number at once, the later number has the later content.
    const saved = await lockEdgeTable(tx)
    const rows = await servingRoutes(tx, context.limits.watchMs * 2)
    const keys = new Map<string, CallerKeys>()
    for (const { workspace_id } of rows) {
      if (!keys.has(workspace_id)) keys.set(workspace_id, await keyHashes(tx, workspace_id))
    }
    const placed = rows.map((row) => ({
      ...row,
      token: unitToken(context, row).reveal(),
      socketPath: context.runtime.socketPath(row.unit_id),
    }))
    const routes = routesOf(placed, keys, context.limits.requestsPerSecond)
    const content = createHash("sha256").update(JSON.stringify(routes)).digest("hex")
    const last = saved?.generation ?? 0
    if (saved?.content_sha256 === content && last >= edgeGeneration) return { generation: last, routes }
    const generation = Math.max(last, edgeGeneration) + 1
    await saveEdgeTable(tx, generation, content)
    return { generation, routes }
  })
}
