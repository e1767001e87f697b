/** The connection pools of a server. They are separate, so that one kind of work cannot use up the connections of another. */
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { leaseTimes } from "./servers/lease-times.js"

export interface Databases {
  /** For requests. Postgres cancels statements that take too long. */
  readonly requests: Database
  /** For executing runs: claims, checkpoints, events. Neither slow requests nor slow reads of graphs delay them. */
  readonly engine: Database
  /** For what graphs read: their checkpoints, and the store. */
  readonly calls: Database
  readonly leases: Database
  close(): Promise<void>
}

export interface DatabasesOptions {
  readonly uri: string
  /** Total number of connections, at least four. One more listens for notifications. */
  readonly poolSize: number
  readonly leaseMs: number
  /** Time limit of one statement of a request, in milliseconds; 0 for no limit. */
  readonly requestMs: number
  /** Time limit of one statement of the engine, in milliseconds. */
  readonly engineMs?: number
  readonly log: Log
}

// A batch of writes takes milliseconds, and one that waits for a lock some seconds. A longer statement is on its way to a host that
// has vanished, or waits behind somebody else's transaction. Each caller of the engine's pool repeats its statement or leaves it to
// the next pass, as after a lost connection: batches of writes are idempotent (K4), and a claim without an answer
// is given back when it is older than a lease.
const usualEngineMs = 60_000
// The history of a long thread with large values. A graph that asks for more gets an error.
const callMs = 120_000

export function openDatabases(options: DatabasesOptions): Databases {
  const { uri, poolSize, leaseMs, requestMs, engineMs = usualEngineMs, log } = options
  const sizes = poolSizes(poolSize)
  const requests = openDatabase({ uri, poolSize: sizes.requests, cancelAfterMs: requestMs, log })
  const engine = openDatabase({ uri, poolSize: sizes.engine, cancelAfterMs: engineMs, log })
  const calls = openDatabase({ uri, poolSize: sizes.calls, cancelAfterMs: callMs, log })
  const leases = openLeases({ uri, leaseMs, log })
  const close = async () => {
    await Promise.all([requests.close(), engine.close(), calls.close(), leases.close()])
  }
  return { requests, engine, calls, leases, close }
}

/** Shares the connections of a server, of which one is for leases. At least one for each kind of work. Pure. */
export function poolSizes(total: number): { requests: number; engine: number; calls: number } {
  const rest = total - 1
  const calls = Math.max(1, Math.floor(rest / 4))
  const engine = Math.max(1, Math.floor((rest - calls) / 2))
  return { requests: rest - calls - engine, engine, calls }
}

/** One connection. During an outage a statement times out early enough to send the next one within the lease (lease-times.ts). */
export function openLeases({ uri, leaseMs, log }: Pick<DatabasesOptions, "uri" | "leaseMs" | "log">): Database {
  const { statementMs } = leaseTimes(leaseMs)
  return openDatabase({ uri, poolSize: 1, connectMs: statementMs, statementMs, log })
}
