/**
 * Shares out the database server's connections. Each unit that runs has a number of them, which its pool and its role's
 * limit keep to; all together never have more than the server gives. One that is stopped has none.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { limitConnections } from "@superstep/toolkit/db/provision"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { connectionUse, lockConnections, setConnections, usedConnections } from "./connection-queries.js"
import type { PipelineContext } from "./context.js"
import type { UnitRow } from "./facts.js"

/** The budget is given out. Whether that passes by itself depends on who sleeps or ends. */
export class NoConnections extends KnownError {
  readonly code = "capacity"
}

// A unit's pool of 10, the session that listens, and one more: its start migrates before it opens the pool.
const generous = 12
// The smallest pool in which a request goes on while another one waits for a long statement (4: one for leases, one for runs, two for
// requests), and the same two.
const least = 6
/** Of a unit's connections, those that are not in its pool. */
export const besidesPool = 2

/**
 * Pure. The first half of the budget is given generously, the second sparingly, so that a busy machine has room for three
 * times as many units.
 * @returns undefined when too little is left
 */
export function shareFor({ budget, used, most }: { budget: number; used: number; most: number }): number | undefined {
  const free = budget - used
  const wanted = Math.max(least, Math.min(most, used + generous <= budget / 2 ? generous : least))
  return wanted <= free ? wanted : undefined
}

// The sessions of a unit that was killed go on for a moment while it starts again.
const spare = 4

/**
 * Gives a unit its connections, unless it has them, before its process is started.
 * @returns how many
 * @throws NoConnections
 */
export async function takeConnections(
  { db, limits, network }: Pick<PipelineContext, "db" | "limits" | "network">,
  unit: Pick<UnitRow, "unit_id" | "deployment_id">,
): Promise<number> {
  const { connections, use } = await db.transaction(async (tx) => {
    await lockConnections(tx)
    const before = await connectionUse(tx, unit)
    if (before.own > 0) return { connections: before.own, use: before }
    const share = shareFor({ budget: limits.connections, used: before.used, most: before.most ?? generous })
    if (share === undefined) throw new NoConnections(fullWords(before, limits.connections))
    await setConnections(tx, unit.unit_id, share)
    return { connections: share, use: { ...before, of_deployment: before.of_deployment + share } }
  })
  const { database_name: name } = use
  if (name !== null) {
    const limit = network?.limitConnections ?? limitConnections
    await limit({ adminUri: db.uri, name, limit: use.of_deployment + spare })
  }
  return connections
}

/**
 * Looks whether so many new units would find connections. It takes none for them: each takes its own when it starts.
 * @throws NoConnections
 */
export async function requireConnections(
  tx: Db,
  { units, budget }: { readonly units: number; readonly budget: number },
): Promise<void> {
  if (units <= 0) return
  const used = await usedConnections(tx)
  if (used + units * least > budget) throw new NoConnections(fullWords({ used, units }, budget))
}

const fullWords = ({ used, units = 1 }: { used: number; units?: number }, budget: number): string => {
  const what = units === 1 ? "another unit" : `${units} more units`
  return `no database connections are left for ${what}: ${used} of ${budget} are given out`
}
