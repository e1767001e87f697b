/** Decides which measurements of the installation an operator should look at. Pure. */
import type { EdgeTable } from "@superstep/edge/port"
import type { RenewalFailure } from "../host-names/certificate-queries.js"
import type { MachineView } from "./machine.js"

// An agent with its packages takes about 200 MB, and Postgres needs room to work.
const leastFreeBytes = 2 * 1024 ** 3

/** @returns  the reason as text; undefined while there is room. Also `superstep doctor` asks this. */
export function whyDiskFull(freeBytes: number): string | undefined {
  return freeBytes >= leastFreeBytes ? undefined : `only ${gigabytes(freeBytes)} GB free on its disk: free some space`
}

export const gigabytes = (bytes: number): string => (bytes / 1024 ** 3).toFixed(1)

// The next agent needs some for itself, and Postgres keeps three for its superuser.
const mostPart = 0.95

export function whyConnectionsShort({ used, most }: MachineView["connections"]): string | undefined {
  if (used < most * mostPart) return undefined
  return `${used} of ${most} database connections are in use: raise max_connections of Postgres, or lower SUPERSTEP_DATABASE_CONNECTIONS`
}

const daySeconds = 86_400
// Whoever renews a certificate does so weeks before its end.
const leastDays = 7

/** @param expiresAt  Unix time, of the certificate of `SUPERSTEP_TLS_CERT`; undefined without one */
export function whyCertificateDue(expiresAt: number | undefined, now: number): string | undefined {
  if (expiresAt === undefined) return undefined
  const days = Math.floor((expiresAt - now) / daySeconds)
  if (days >= leastDays) return undefined
  const state = expiresAt <= now ? "has expired" : `expires in ${days} ${days === 1 ? "day" : "days"}`
  return `the certificate of SUPERSTEP_TLS_CERT ${state}: renew it; a new file is used without a restart`
}

/** Of a certificate of a host name, which the platform renews itself. */
export const whyNotRenewed = ({ host_name, failure }: RenewalFailure): string =>
  `the certificate of ${host_name} could not be renewed, which is tried again: ${failure}`

// An edge gets each table within a moment; a cluster notices a dead one within about as long.
const mostBehindMs = 60_000

/** Without the names of edges: everybody may read `/health`. */
export function whyEdgesBehind(tables: readonly EdgeTable[]): string | undefined {
  const ready = tables.filter(({ isReady }) => isReady)
  // When none is, as the only one that is dead, changes wait for all.
  const all = ready.length > 0 ? ready : tables
  const behind = all.filter(({ behindMs }) => behindMs >= mostBehindMs)
  if (behind.length === 0) return undefined
  const minutes = Math.floor(Math.max(...behind.map(({ behindMs }) => behindMs)) / 60_000)
  return `${behind.length} of ${all.length} edges have used an old table for ${minutes} min, so deploys, stops and revoked keys wait: see superstep_edge_table_lag_seconds in /metrics`
}
