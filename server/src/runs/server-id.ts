/**
 * The id under which a server claims runs. With an id that stays the same over restarts, a server takes back its runs at
 * once. So no two running servers may have the same id: each holds its own as a lock in the database.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"

const pollMs = 100

/**
 * @param wanted     the id from the settings
 * @param patienceMs how long to wait for it: Postgres ends the sessions of a killed server when it notices, as a rule at once
 * @returns          the id, which nobody else has; a new one where another server that lives has it, since the folder that it
 *                   is kept in was copied, say. Then the leases of a former life end by themselves.
 */
export async function takeServerId(
  db: Pick<Database, "hold">,
  { wanted, patienceMs = 3000, log }: { wanted: string; patienceMs?: number; log: Log },
): Promise<string> {
  const deadline = performance.now() + patienceMs
  while (!(await db.hold(nameOf(wanted)))) {
    if (performance.now() >= deadline) {
      const serverId = randomUUID()
      log.warn({ wanted, server_id: serverId }, "another server has this id: give each its own SUPERSTEP_SERVER_ID")
      return takeServerId(db, { wanted: serverId, log })
    }
    await sleep(pollMs)
  }
  return wanted
}

const nameOf = (serverId: string) => `superstep server ${serverId.toLowerCase()}`
