/** The connection pools of a server. They are separate, so that one kind of work cannot use up the connections of another. */
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { leaseTimes } from "./runs/lease-times.js"

export interface Databases {
  /** For requests. Postgres cancels statements that take too long. */
  readonly requests: Database
  /** For executing runs: claims, checkpoints, events. Slow requests do not delay them. */
  readonly engine: Database
  readonly leases: Database
  close(): Promise<void>
}

export interface DatabasesOptions {
  readonly uri: string
  /** Total number of connections, at least three. One more listens for notifications. */
  readonly poolSize: number
  readonly leaseMs: number
  /** Time limit of one statement of a request, in milliseconds; 0 for no limit. */
  readonly requestMs: number
  readonly log: Log
}

export function openDatabases({ uri, poolSize, leaseMs, requestMs, log }: DatabasesOptions): Databases {
  const engineSize = Math.floor((poolSize - 1) / 2)
  const cancelAfterMs = requestMs === 0 ? undefined : requestMs
  const requests = openDatabase({ uri, poolSize: poolSize - 1 - engineSize, cancelAfterMs, log })
  const engine = openDatabase({ uri, poolSize: engineSize, log })
  const leases = openLeases({ uri, leaseMs, log })
  const close = async () => {
    await Promise.all([requests.close(), engine.close(), leases.close()])
  }
  return { requests, engine, leases, close }
}

/** One connection. During an outage a statement times out early enough to send the next one within the lease (lease-times.ts). */
export function openLeases({ uri, leaseMs, log }: Pick<DatabasesOptions, "uri" | "leaseMs" | "log">): Database {
  const { statementMs } = leaseTimes(leaseMs)
  return openDatabase({ uri, poolSize: 1, connectMs: statementMs, statementMs, log })
}
