/** What the pipeline's parts are given. Everything that outlives a process is in `db` or below `folders`. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { BuildLimits } from "../builders/build-request.js"
import type { InstalledNodes } from "../builders/installed-nodes.js"
import type { Table } from "../edge/table.js"
import type { Tally } from "../edge/tallies.js"
import type { Cgroups } from "../runtimes/cgroups.js"
import type { Isolation } from "../runtimes/isolation.js"
import type { Runtime } from "../runtimes/port.js"
import type { MasterKey } from "../secrets/seal.js"
import type { ArchiveLocation } from "../sources/archive.js"
import type { GitLocation } from "../sources/git-location.js"
import type { Source } from "../sources/port.js"
import type { CrashPoint } from "./crash-points.js"
import type { Folders } from "./folders.js"

/** The edge as the pipeline needs it. */
export interface Edge {
  /** Returns when every new request uses the table. */
  push(table: Table): Promise<{ readonly generation: number }>
  status(): Promise<EdgeState>
  /** Where it answers from this machine, such as `http://127.0.0.1:8901`. */
  readonly url: string
  /** Starts it, unless it runs. */
  ensure(): Promise<void>
}

export interface EdgeState {
  /** What was answered since the edge started. */
  readonly deployments: Readonly<Record<string, Tally>>
  readonly generation: number
  readonly units: Readonly<Record<string, { requests: number; streams: number; websockets: number; idle_ms: number }>>
}

export interface PipelineLimits extends BuildLimits {
  /** From the start of a unit until it is ready. */
  readonly healthMs: number
  /** How long the public address may take to answer with a new revision. */
  readonly verifyRouteMs: number
  /** How long an old unit may go on with what it has. */
  readonly drainMs: number
  /** How long a new unit is watched after it took over; until then the one before it stands by. */
  readonly watchMs: number
  /** How long a unit that runs may answer nothing. */
  readonly hangMs: number
  /** What a stopped unit has to hand its runs back. */
  readonly stopGraceMs: number
  /** After how long a deployment that nobody uses sleeps, if it may. */
  readonly idleMs: number
  /** Most requests of a deployment in production in a second; 0 for no limit. */
  readonly requestsPerSecond: number
  /** How many database connections all units may have together. */
  readonly connections: number
  /** How many builds may run at once. */
  readonly builds: number
  /** How many DEPLOYED revisions of a deployment keep their artefact. */
  readonly keptArtifacts: number
  /** What the logs of a deployment may take up. */
  readonly logQuotaBytes: number
  /** How long lines are kept. What is looked for in a build's log is about its failure, in an agent's about today. */
  readonly keptLogDays: { readonly build: number; readonly deploy: number }
}

export interface PipelineContext {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  readonly folders: Folders
  readonly sources: { readonly git: Source<GitLocation>; readonly archive: Source<ArchiveLocation> }
  readonly runtime: Runtime
  readonly isolation: Isolation
  /** Undefined where the machine has none for us. */
  readonly cgroups: Cgroups | undefined
  readonly edge: Edge
  readonly limits: PipelineLimits
  readonly nodes: InstalledNodes
  /** The program that loads a project's graphs to see whether they load. */
  readonly verifyEntry: string
  /** Of this process; builds and units get a few names of it. */
  readonly environment: NodeJS.ProcessEnv
  readonly crashPoint: CrashPoint
}
