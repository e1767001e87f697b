/**
 * The one owner of routing: keeps the table of the edges in line with the database, and knows when a change is in effect
 * (docs/decisions/0092-one-owner-of-routing.md).
 * T1 A change of one deployment costs the reading of that deployment; the table is sent whole. T2 What a transaction changes notes itself
 * (`route_changes`), and a note is taken with the reading of its deployment, or not at all: when a reading fails, or another table than ours was
 * the last in the database, everything is read.
 * T3 Tables are numbered in the database, each above all before. T4 A route that edges would refuse is left out, and takes no other along.
 */
import type { Edge } from "@superstep/edge/port"
import type { Route, Table, Unit } from "@superstep/edge/table"
import type { Machine } from "@superstep/machines/port/port"
import { Route as receivesRoute } from "@superstep/protocol/edge/validators"
import { received } from "@superstep/protocol/schemas/received"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { must } from "@superstep/toolkit/errors/must"
import { sharedRuns } from "@superstep/toolkit/exec/shared-runs"
import type { Log } from "@superstep/toolkit/log/log"
import { agentTokenKey } from "../console/agent-tokens.js"
import { certificatePem } from "../host-names/certificate-pem.js"
import { allChallenges } from "../host-names/certificate-queries.js"
import { routedNames } from "../host-names/queries.js"
import { memberHashes } from "../people/queries.js"
import { CannotOpen, type MasterKey, open } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { callerKeys } from "../workspaces/queries.js"
import { nextGeneration, type RouteRow, routeRows, takeRouteChanges } from "./queries.js"
import { routeOf } from "./route.js"

export interface RoutingOptions {
  readonly db: Db & Pick<Database, "transaction">
  readonly log: Log
  readonly key: MasterKey
  readonly edge: Pick<Edge, "push" | "status">
  readonly machine: { readonly units: Pick<Machine["units"], "address"> }
  /** To a deployment in production; 0: no limit. */
  readonly limits: { readonly requestsPerSecond: number }
  readonly consoleOrigins: readonly string[]
  readonly crashPoint: (name: string) => void
}

export interface Routing {
  /**
   * When this resolves, every new request is routed according to the database as it was at the call. Calls at the same time share the work.
   * @throws Unavailable  an edge that callers are sent to does not answer
   */
  publish(): Promise<void>
}

/** What was read last. */
interface Kept {
  readonly table: Table
  /** By deployment. */
  readonly routes: ReadonlyMap<string, Route>
  /** When, by the database's clock. */
  readonly readAt: string
}

export function createRouting(options: RoutingOptions): Routing {
  const { db, log, key, edge, crashPoint } = options
  /** Undefined: the next reading is of everything. */
  let kept: Kept | undefined
  /** The highest number of a table that another control plane has sent, as far as an edge has said so. */
  let floor = 0
  /** The highest number of our own. */
  let newest = 0
  let sent: Table | undefined
  let sending: { readonly table: Table; readonly done: Promise<unknown> } | undefined

  const readAgain = sharedRuns(async (): Promise<Table> => {
    // One of another control plane took notes that we have not seen.
    const before = kept && kept.table.generation > floor ? kept : undefined
    // A failure may be that of a commit that went through: then its notes are gone.
    kept = undefined
    const now = await db.transaction((tx) => readTable(tx, options, before, Math.max(floor, newest)))
    kept = now
    newest = now.table.generation
    if (now.table !== before?.table) crashPoint("table:after-row")
    return now.table
  })

  const send = (table: Table): Promise<unknown> => {
    if (sending?.table !== table) {
      const done = edge
        .push(table, (sha256) => certificatePem({ db, key }, sha256))
        .finally(() => {
          if (sending?.done === done) sending = undefined
        })
      sending = { table, done }
      sent = table
    }
    return sending.done
  }

  /** An edge may have lost a table since it took it, or have one of another control plane. */
  const isInUse = async ({ generation }: Table): Promise<boolean> => {
    const { generation: lowest, newestGeneration: highest = lowest } = await edge.status()
    return lowest === generation && highest === generation
  }

  const publish = async (): Promise<void> => {
    const table = await readAgain()
    if (table === sent && sending?.table !== table && (await isInUse(table))) return
    try {
      await send(table)
    } catch (error) {
      if (!(error instanceof Conflict)) throw error
      const { generation, newestGeneration = generation } = await edge.status()
      // A newer one of ours came first, which includes this one.
      if (newestGeneration <= newest) return
      floor = newestGeneration
      return publish()
    }
    log.debug({ generation: table.generation, routes: table.routes.length }, "table pushed")
  }
  return { publish }
}

/**
 * Reads what has changed since `last`; everything without it, and when the database has not `last` as its last table: a standby that
 * was promoted has lost commits, and left no note of them. The table is the same object when nothing has changed.
 * @param above  the number of a new table is higher
 */
async function readTable(tx: Db, options: RoutingOptions, last: Kept | undefined, above: number): Promise<Kept> {
  const { is_all, deployment_ids, at: readAt, generation: present } = await takeRouteChanges(tx, last?.readAt)
  const before = last?.table.generation === present ? last : undefined
  const changed = before && !is_all ? deployment_ids : undefined
  const routes = new Map(changed && before?.routes)
  for (const id of changed ?? []) routes.delete(id)
  if (changed?.length !== 0)
    for (const route of await readRoutes(tx, options, changed)) routes.set(route.deployment_id, route)
  const challenges = await allChallenges(tx)
  if (before) {
    const ids = changed ?? new Set([...before.routes.keys(), ...routes.keys()])
    const isSame = [...ids].every((id) => isEqual(before.routes.get(id), routes.get(id)))
    if (isSame && isEqual(before.table.challenges, challenges)) return { ...before, readAt }
  }
  const all = [...routes.values()]
  const addressed = all.flatMap(({ units, standby }) => [...units, ...standby]).map(({ unit_id }) => unit_id)
  must(new Set(addressed).size === addressed.length, "E2", "a unit belongs to one route", { units: addressed.length })
  const generation = await nextGeneration(tx, above)
  const table = { generation, routes: all, challenges, console_origins: options.consoleOrigins }
  return { table, routes, readAt }
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** The routes of these deployments, or of all. */
async function readRoutes(tx: Db, options: RoutingOptions, ids: readonly string[] | undefined): Promise<Route[]> {
  const { key, log, limits } = options
  const byDeployment = groups(await routeRows(tx, ids), ({ deployment_id }) => deployment_id)
  const workspaces = [...byDeployment.values()].flatMap(([row]) => row?.workspace_id ?? [])
  const keys = await callerKeys(tx, [...new Set(workspaces)])
  const members = await memberHashes(tx, [...new Set(workspaces)])
  const hostNames = groups(await routedNames(tx, ids), ({ deployment_id }) => deployment_id)
  return [...byDeployment].flatMap(([deploymentId, rows]) => {
    const route = routeOf({
      rows: rows.map((row) => ({ ...row, unit: unitOf(options, row) })),
      keys: keys.get(rows[0]?.workspace_id ?? "") ?? { run: [], read: [] },
      members: members.get(rows[0]?.workspace_id ?? "") ?? { approve: [], run: [], read: [] },
      tokenKey: agentTokenKey(key, deploymentId).reveal(),
      hostNames: hostNames.get(deploymentId) ?? [],
      requestsPerSecond: limits.requestsPerSecond,
    })
    if (!route) return []
    const fit = received<Route>(receivesRoute, route)
    if ("message" in fit) return fit.message
    log.error(
      { deployment_id: deploymentId, ...fit.problem },
      "edges would refuse the route of a deployment: it has none",
    )
    return []
  })
}

/** A token that was sealed with another master key must not keep the table from all deployments. */
function unitOf({ key, log, machine }: RoutingOptions, { unit_id, token_sealed }: RouteRow): Unit | undefined {
  try {
    return { unit_id, address: machine.units.address(unit_id), token: open(key, token_sealed, contextOf.unit(unit_id)) }
  } catch (err) {
    if (!(err instanceof CannotOpen)) throw err
    log.warn({ err, unit_id }, "the token of a unit cannot be opened, so no request reaches it")
    return undefined
  }
}

function groups<T>(all: readonly T[], keyOf: (it: T) => string): Map<string, T[]> {
  const grouped = new Map<string, T[]>()
  for (const it of all) {
    const group = grouped.get(keyOf(it))
    if (group) group.push(it)
    else grouped.set(keyOf(it), [it])
  }
  return grouped
}
