/**
 * The state of an edge: its settings, its table and what is open.
 * A swap of the table is one assignment. A request reads the table when it arrives, so it sees either the old or the new one.
 */
import type { Log } from "@superstep/toolkit/log/log"
import { type Certificates, certificatesIn } from "./certificates.js"
import type { Config } from "./config.js"
import { type Counters, createCounters } from "./counters.js"
import { createHolding, type Holding } from "./holding.js"
import { createOpenByKey, type OpenByKey } from "./open-by-key.js"
import { createRateLimit, type RateLimit } from "./rate-limit.js"
import { indexTable, type RoutingTable, type Table } from "./table.js"
import { createTallies, type Tallies } from "./tallies.js"
import { createUnitConnections, type UnitConnections } from "./unit-connections.js"
import { askToWake } from "./wake-client.js"

/** Most bytes of all headers of a request, and of an answer. */
export const maxHeaderBytes = 64 * 1024

export interface Edge {
  readonly config: Config
  readonly log: Log
  readonly counters: Counters
  readonly tallies: Tallies
  readonly openByKey: OpenByKey
  readonly connections: UnitConnections
  readonly holding: Holding
  readonly rateLimit: RateLimit
  readonly certificates: Certificates
  /** Fulfilled when the control plane has sent a table. */
  readonly tableTaken: Promise<void>
  /** The current table. */
  readonly table: RoutingTable
  /** Every request that arrives from now on uses this table. What is under way goes on, unless its key was revoked. */
  swapTable(table: Table): void
}

export function createEdge({ config, log, table }: { config: Config; log: Log; table: Table }): Edge {
  const connections = createUnitConnections({ maxHeaderBytes })
  let current = indexTable(table)
  let take = (): void => undefined
  const tableTaken = new Promise<void>((resolve) => {
    take = resolve
  })
  const rateLimit = createRateLimit()
  const tallies = createTallies()
  const openByKey = createOpenByKey()
  const certificates = certificatesIn(config.certificatesFolder, log)
  const holding = createHolding({
    holdMs: config.holdSeconds * 1000,
    mostHeld: config.mostHeld,
    mostHeldEach: config.mostHeldEach,
    wake: (deploymentId) => askToWake(config, deploymentId),
    log,
  })
  return {
    config,
    holding,
    rateLimit,
    certificates,
    log,
    counters: createCounters(),
    tallies,
    openByKey,
    connections,
    tableTaken,
    get table() {
      return current
    },
    swapTable: (next) => {
      current = indexTable(next)
      take()
      const ended = openByKey.endRevoked(next)
      if (ended > 0) log.info({ exchanges: ended }, "what was open with revoked keys was ended")
      connections.keepOnly(current.units)
      holding.release(current.isHeld)
      const names = next.routes.flatMap(({ host_names = [] }) => host_names)
      certificates.keepOnly(new Set(names.flatMap(({ certificate = [] }) => certificate)))
      const deployments = new Set(next.routes.map(({ deployment_id }) => deployment_id))
      rateLimit.keepOnly(deployments)
      tallies.keepOnly(deployments)
    },
  }
}
