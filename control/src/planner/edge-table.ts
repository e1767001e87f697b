/** Brings the edge's table in line with the database. */
import { createHash } from "node:crypto"
import type { Edge } from "@superstep/edge/port"
import type { Table } from "@superstep/edge/table"
import type { Address } from "@superstep/protocol/http/address"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { must } from "@superstep/toolkit/errors/must"
import { sharedRuns } from "@superstep/toolkit/exec/shared-runs"
import { agentTokenKey } from "../console/agent-tokens.js"
import { certificatePem } from "../host-names/certificate-pem.js"
import { allChallenges } from "../host-names/certificate-queries.js"
import { type RoutedName, routedNames } from "../host-names/queries.js"
import { CannotOpen } from "../secrets/seal.js"
import { type CallerKeys, keyHashes } from "../workspaces/queries.js"
import type { PipelineContext } from "./context.js"
import { lockEdgeTable, type RouteRow, saveEdgeTable, servingRoutes } from "./edge-table-queries.js"
import { unitToken } from "./unit.js"

interface PlacedRow extends RouteRow {
  /** Undefined when it cannot be opened: nothing can reach the unit, and its deployment is routed without it. */
  readonly token: string | undefined
  readonly address: Address
  readonly token_key: string
}

/**
 * Pure.
 * @param keys               hashes of the keys that may call, by workspace
 * @param requestsPerSecond  limit for a deployment in production; 0 for no limit
 * @param hostNames          names of deployments at which they are reachable
 */
export function routesOf(
  rows: readonly PlacedRow[],
  keys: ReadonlyMap<string, CallerKeys>,
  requestsPerSecond = 0,
  hostNames: readonly RoutedName[] = [],
): Table["routes"] {
  const routes = new Map<string, Table["routes"][number]>()
  for (const row of rows.filter(({ role }) => role === "serving")) {
    const { name, deployment_id, revision_id, token_key } = row
    const ofDeployment = rows.filter((it) => it.deployment_id === deployment_id)
    const units = ofDeployment.filter(({ role, is_ready }) => role === "serving" && is_ready).flatMap(unitOf)
    routes.set(deployment_id, {
      name,
      deployment_id,
      revision_id,
      keys: [...(keys.get(row.workspace_id)?.run ?? [])],
      read_keys: [...(keys.get(row.workspace_id)?.read ?? [])],
      token_key,
      units,
      standby: ofDeployment.filter(({ role }) => role === "standby").flatMap(unitOf),
      state: stateOf(row, units.length),
      ...hostNamesOf(deployment_id, hostNames),
      ...(row.cross_origin && { cors: row.cross_origin }),
      ...(row.deployment_type === "prod" && requestsPerSecond > 0 && { max_requests_per_second: requestsPerSecond }),
    })
  }
  const all = [...routes.values()]
  const addressed = all.flatMap(({ units, standby }) => [...units, ...standby]).map(({ unit_id }) => unit_id)
  must(new Set(addressed).size === addressed.length, "E2", "a unit belongs to one route", { units: addressed.length })
  return all
}

function hostNamesOf(deploymentId: string, all: readonly RoutedName[]): Pick<Table["routes"][number], "host_names"> {
  const own = all.filter(({ deployment_id }) => deployment_id === deploymentId)
  if (own.length === 0) return {}
  return {
    host_names: own.map(({ host_name: name, certificate_sha256: certificate }) => ({
      name,
      ...(certificate !== null && { certificate }),
    })),
  }
}

const unitOf = ({ unit_id, address, token }: PlacedRow) => (token === undefined ? [] : [{ unit_id, address, token }])

function stateOf({ is_paused, is_refused }: RouteRow, units: number): Table["routes"][number]["state"] {
  if (is_paused) return "paused"
  if (units > 0) return "serving"
  return is_refused ? "full" : "held"
}

const syncs = new WeakMap<Edge, () => Promise<void>>()

/**
 * Pushes the table when its content is new or an edge has an older one. When this returns, every new request is routed
 * according to the database as it was at the call. Calls at the same time share the work: each table is about all units.
 * @throws Unavailable  an edge does not answer
 */
export function syncEdge(context: PipelineContext): Promise<void> {
  const sync = syncs.get(context.edge) ?? sharedRuns(() => pushChanges(context))
  syncs.set(context.edge, sync)
  return sync()
}

async function pushChanges(context: PipelineContext): Promise<void> {
  const { edge } = context
  const { generation: lowest, newestGeneration: newest = lowest } = await edge.status()
  const table = await currentTable(context, newest)
  if (table.generation === lowest) return
  context.crashPoint("table:after-row")
  await edge
    .push(table, (sha256) => certificatePem(context, sha256))
    .catch((error: unknown) => {
      // A newer push came first; its table includes ours.
      if (!(error instanceof Conflict)) throw error
    })
  context.log.debug({ generation: table.generation, routes: table.routes.length }, "table pushed")
}

/** The table with its number, which rises with each change and is never below the edge's own. */
async function currentTable(context: PipelineContext, edgeGeneration: number): Promise<Table> {
  return context.db.transaction(async (tx) => {
    // Locked before reading: of two concurrent calls, the one with the later number has the later content.
    const saved = await lockEdgeTable(tx)
    const rows = await servingRoutes(tx)
    const keys = new Map<string, CallerKeys>()
    for (const { workspace_id } of rows) {
      if (!keys.has(workspace_id)) keys.set(workspace_id, await keyHashes(tx, workspace_id))
    }
    const placed = rows.map((row) => ({
      ...row,
      token: tokenOf(context, row),
      address: context.machine.units.address(row.unit_id),
      token_key: agentTokenKey(context.key, row.deployment_id).reveal(),
    }))
    const routes = routesOf(placed, keys, context.limits.requestsPerSecond, await routedNames(tx))
    const content = { routes, challenges: await allChallenges(tx), console_origins: [...context.consoleOrigins] }
    const sha256 = createHash("sha256").update(JSON.stringify(content)).digest("hex")
    const last = saved?.generation ?? 0
    if (saved?.content_sha256 === sha256 && last >= edgeGeneration) return { generation: last, ...content }
    const generation = Math.max(last, edgeGeneration) + 1
    await saveEdgeTable(tx, generation, sha256)
    return { generation, ...content }
  })
}

/** One token that was sealed with another master key must not keep the table from all deployments. */
function tokenOf(context: PipelineContext, row: RouteRow): string | undefined {
  try {
    return unitToken(context, row).reveal()
  } catch (err) {
    if (!(err instanceof CannotOpen)) throw err
    context.log.warn({ err, unit_id: row.unit_id }, "the token of a unit cannot be opened, so no request reaches it")
    return undefined
  }
}
