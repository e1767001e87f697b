/** What the control plane asks of the edge, whether that is a process here, pods, or processes on several machines. */
import type { Table } from "./table.js"
import type { Tally } from "./tallies.js"

export interface Edge {
  /**
   * Resolves when every new request uses the table.
   * @param pemOf  reads a certificate of the table, with its issuers and its key; called for those that the edge lacks
   */
  push(table: Table, pemOf?: (certificateSha256: string) => Promise<string>): Promise<{ readonly generation: number }>
  status(): Promise<EdgeState>
  /** What is known of the table of each edge. Costs little: it asks none of them. */
  tables(): Promise<readonly EdgeTable[]>
  /** Its address on this machine, such as `http://127.0.0.1:8901`. */
  readonly url: string
  /** Why it cannot show certificates of host names; undefined when it can. */
  readonly whyNoCertificates?: string
  /** Starts the edge unless it runs, with today's settings and certificate. */
  ensure(): Promise<void>
  /** Whether its process runs; costs little. */
  isAlive(): Promise<boolean>
}

export interface EdgeState {
  /** Counts since the edge started. */
  readonly deployments: Readonly<Record<string, Tally>>
  /** Of several edges the lowest. */
  readonly generation: number
  /** Of several edges the highest. */
  readonly newestGeneration?: number
  /**
   * Edges that do not answer, so that what is open on them is unknown: those that callers are sent to, and those that get none any more and
   * have never said what they still carry.
   */
  readonly silent?: readonly string[]
  readonly units: Readonly<Record<string, { requests: number; streams: number; websockets: number; idle_ms: number }>>
}

export interface EdgeTable {
  /** Names the edge among those of the installation, such as by its address. */
  readonly edge: string
  /** Whether new callers are sent to it; of an only one, whether it answered when it was asked last. */
  readonly isReady: boolean
  /** Of the table that it confirmed last; undefined: it has confirmed none to this process. */
  readonly generation: number | undefined
  /** For how long a newer table has waited for it, in milliseconds; 0: it has the newest. */
  readonly behindMs: number
}
