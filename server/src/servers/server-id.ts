/**
 * The id under which a server claims runs. A server that keeps its id over restarts takes back its runs at once. So two
 * running servers must not have the same id: each server holds a lock on its id in the database.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"

const pollMs = 100

/**
 * @param wanted     the id from the settings
 * @param timeoutMs how long to wait for its lock: Postgres ends the sessions of a killed server when it notices, usually at once
 * @returns          the id, which no other server has; a new one if another running server has it, for example because the
 *                   folder with the id was copied. Then the leases of the former process expire.
 */
export async function takeServerId(
  db: Pick<Database, "hold">,
  { wanted, timeoutMs = 3000, log }: { wanted: string; timeoutMs?: number; log: Log },
): Promise<string> {
  const deadline = performance.now() + timeoutMs
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
