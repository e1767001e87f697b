import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { leaseTimes } from "./lease-times.js"

/**
 * The connection for statements on leases. It is apart from the pool, so that slow requests cost no run its lease, and a
 * statement that an outage holds up is given up in time for the next one (lease-times.ts).
 */
export function openLeases({ uri, leaseMs, log }: { uri: string; leaseMs: number; log: Log }): Database {
  const { statementMs } = leaseTimes(leaseMs)
  return openDatabase({ uri, poolSize: 1, connectMs: statementMs, statementMs, log })
}
