/** The owner of routing on a real database, with an edge of which only the table is there. */
import { randomBytes } from "node:crypto"
import type { Table } from "@superstep/edge/table"
import type { Database } from "@superstep/toolkit/db/database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { addUnitRow } from "../../planner/testing/unit-row.js"
import { serveWith } from "../../revisions/role-queries.js"
import { type MasterKey, masterKey } from "../../secrets/seal.js"
import { createRouting, type RoutingOptions } from "../routing.js"
import { type KeptEdge, keptEdge } from "./kept-edge.js"

export const key = masterKey(randomBytes(32))

export function routingOn(
  db: RoutingOptions["db"],
  {
    log = silent,
    edge = keptEdge(),
    crashPoint = () => undefined,
  }: Partial<Pick<RoutingOptions, "log" | "crashPoint">> & { readonly edge?: KeptEdge } = {},
) {
  const machine = { units: { address: (unitId: string) => `unix:/${unitId}` as const } }
  const options = { machine, limits: { requestsPerSecond: 500 }, consoleOrigins: [], crashPoint }
  return { ...createRouting({ ...options, db, log, key, edge }), ...edge }
}

/** A deployment with a unit that serves. @param sealedBy  the master key of its unit's token */
export async function addServing(db: Database, sealedBy: MasterKey = key) {
  const unit = await addUnitRow({ db, key: sealedBy })
  await serveWith(db, { deploymentId: unit.deployment_id, revisionId: unit.revision_id })
  return unit
}

export const unitsOf = (table: Table | undefined) =>
  Object.fromEntries(
    (table?.routes ?? []).map(({ deployment_id, units, state }) => [deployment_id, [units.length, state]]),
  )
