/** The connections of a server: apart from each other, so that what one kind of work takes is not missed by another. */
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { leaseTimes } from "./runs/lease-times.js"

export interface Databases {
  /** What requests ask for. Postgres stops statements that take too long. */
  readonly requests: Database
  /** What runs need: claims, checkpoints, events. Slow requests hold none of it up. */
  readonly engine: Database
  readonly leases: Database
  close(): Promise<void>
}

export interface DatabasesOptions {
  readonly uri: string
  /** Connections in all, three at least; one more listens for notifications. */
  readonly poolSize: number
  readonly leaseMs: number
  /** How long one statement of a request may take, in milliseconds; 0 for any time. */
  readonly requestMs: number
  readonly log: Log
}

export function openDatabases({ uri, poolSize, leaseMs, requestMs, log }: DatabasesOptions): Databases {
  const ofEngine = Math.floor((poolSize - 1) / 2)
  const cancelAfterMs = requestMs === 0 ? undefined : requestMs
  const requests = openDatabase({ uri, poolSize: poolSize - 1 - ofEngine, cancelAfterMs, log })
  const engine = openDatabase({ uri, poolSize: ofEngine, log })
  const leases = openLeases({ uri, leaseMs, log })
  const close = async () => {
    await Promise.all([requests.close(), engine.close(), leases.close()])
  }
  return { requests, engine, leases, close }
}

/** One connection. A statement that an outage holds up is given up in time for the next one (lease-times.ts). */
export function openLeases({ uri, leaseMs, log }: Pick<DatabasesOptions, "uri" | "leaseMs" | "log">): Database {
  const { statementMs } = leaseTimes(leaseMs)
  return openDatabase({ uri, poolSize: 1, connectMs: statementMs, statementMs, log })
}
