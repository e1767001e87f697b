/** Of the table `units`: how many of the database server's connections each unit has. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { UnitRow } from "./facts.js"

/** Only the holder gives out connections, until its transaction ends. */
export const lockConnections = (tx: Db): Promise<number> => tx.run(sql`select pg_advisory_xact_lock(${connectionLock})`)

// Any constant of our own.
const connectionLock = 7_283_116

export interface ConnectionUse {
  /** Of the unit itself. */
  readonly own: number
  /** Of all units, and of all units of its deployment. */
  readonly used: number
  readonly of_deployment: number
  readonly database_name: string | null
  /** What its revision asks for (`db_max_connections`). */
  readonly most: number | null
}

export const connectionUse = async (
  tx: Db,
  { unit_id, deployment_id }: Pick<UnitRow, "unit_id" | "deployment_id">,
): Promise<ConnectionUse> => {
  const row = await tx.row<ConnectionUse>(sql`
    select u.connections as own, d.database_name, (select sum(connections) from units) as used,
      (select sum(connections) from units where deployment_id = ${deployment_id}) as of_deployment,
      case jsonb_typeof(r.source_config -> 'resource_spec' -> 'db_max_connections') when 'number'
        then (r.source_config -> 'resource_spec' ->> 'db_max_connections')::float8::int end as most
    from units u join deployments d using (deployment_id) join revisions r using (revision_id)
    where u.unit_id = ${unit_id}`)
  // Its deploy was overtaken meanwhile, as by a rollback.
  if (!row) throw new Unavailable(`unit ${unit_id} is gone`)
  return row
}

/** Of all units. */
export const usedConnections = async (tx: Db): Promise<number> =>
  (await tx.row<{ used: number }>(sql`select coalesce(sum(connections), 0) as used from units`))?.used ?? 0

export const setConnections = (db: Db, unitId: string, connections: number): Promise<number> =>
  db.run(sql`update units set connections = ${connections} where unit_id = ${unitId}`)
