/** Measures the control plane's surroundings: disk, certificate, event loop and database server. */
import { X509Certificate } from "node:crypto"
import { readFile, statfs } from "node:fs/promises"
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { Database, PoolUse } from "@superstep/toolkit/db/database"
import { type Connections, serverConnections } from "./queries.js"

export interface Place {
  /** A folder on the disk that the platform fills. */
  readonly folder: string
  /** The PEM file of its HTTPS certificate. */
  readonly certFile: string | undefined
}

export interface MachineView {
  readonly disk: { readonly freeBytes: number; readonly sizeBytes: number }
  /** When the certificate expires, as a Unix time; undefined without one, and while its file cannot be read. */
  readonly certificateExpiresAt: number | undefined
  readonly pool: PoolUse
  readonly connections: Connections
}

export async function machineView(db: Database, { folder, certFile }: Place): Promise<MachineView> {
  const [{ bavail, blocks, bsize }, certificateExpiresAt, connections] = await Promise.all([
    statfs(folder),
    certFile === undefined ? undefined : expiryOf(certFile),
    serverConnections(db),
  ])
  const disk = { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
  return { disk, certificateExpiresAt, pool: db.pool(), connections }
}

/** The first certificate of the file is the server's own. */
async function expiryOf(certFile: string): Promise<number | undefined> {
  try {
    return Date.parse(new X509Certificate(await readFile(certFile)).validTo) / 1000
  } catch {
    // The file may be being renewed just now; `followTlsFiles` logs an unusable one.
    return undefined
  }
}

export interface LoopLag {
  readonly medianSeconds: number
  readonly p99Seconds: number
  readonly maxSeconds: number
}

// Each period wakes the process: one of 10 ms was half of what a platform without requests cost. Every delay that is longer than this is seen.
const resolutionMs = 250

/** Measures the delay of the event loop from now on. @returns  a function that reads the delays since its last call */
export function watchLoopLag(): () => LoopLag {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  return () => {
    const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000)
    const lag = {
      medianSeconds: seconds(delay.percentile(50)),
      p99Seconds: seconds(delay.percentile(99)),
      maxSeconds: seconds(delay.max),
    }
    delay.reset()
    return lag
  }
}
