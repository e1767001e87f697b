/** What the pipeline, the planner and the loops in the background share. What outlives a process is in `db`, or belongs to the machine. */

import type { Edge } from "@superstep/edge/port"
import type { Machine } from "@superstep/machines/port/port"
import type { SendToUnit } from "@superstep/machines/unit-client/unit-request"
import type { Database } from "@superstep/toolkit/db/database"
import type { dropDatabase, limitConnections } from "@superstep/toolkit/db/provision"
import type { Log } from "@superstep/toolkit/log/log"
import type { MemberFailures } from "@superstep/toolkit/log/member-failures"
import type { Clock } from "@superstep/toolkit/time/clock"
import type { Amounts } from "../quotas/quota.js"
import type { Routing } from "../routing/routing.js"
import type { MasterKey } from "../secrets/seal.js"
import type { ArchiveLocation } from "../sources/archive-location.js"
import type { GitLocation } from "../sources/git-location.js"
import type { Source } from "../sources/port.js"
import type { CrashPoint } from "./crash-points.js"

export interface PipelineLimits {
  /** To resolve a revision's ref and to fetch its code, together. */
  readonly sourceMs: number
  /** From the start of a unit until it is ready. */
  readonly healthMs: number
  /** How long until the public address must answer with a new revision. */
  readonly verifyRouteMs: number
  /** How long an old unit may go on with its open work. */
  readonly drainMs: number
  /** How long a new unit is watched after it took over; until then its predecessor stands by. */
  readonly watchMs: number
  /** How long a running unit may answer nothing. */
  readonly hangMs: number
  /** Time for a stopped unit to hand its runs back. */
  readonly stopGraceMs: number
  /** After how long without use a deployment sleeps, if it may. */
  readonly idleMs: number
  /** For how long fewer units must have been enough before one is taken away. */
  readonly scaleDownMs: number
  /** Quotas of workspaces for which the operator has set none. */
  readonly defaultQuotas: Amounts
  /** Most requests per second to a deployment in production; 0 for no limit. */
  readonly requestsPerSecond: number
  /** Most database connections of all units together. */
  readonly connections: number
  /** Most builds at once. */
  readonly builds: number
  /** Most fetches and builds at once of a workspace for which the operator has set no quota. */
  readonly buildsOfAWorkspace: number
  /** Most disk that it may keep, in megabytes. */
  readonly diskOfAWorkspaceMb: number
  /** How many DEPLOYED revisions of a deployment keep their artifact. */
  readonly keptArtifacts: number
  /** Most bytes of logs of a deployment. */
  readonly logQuotaBytes: number
  /** How long lines are kept: a build's log is read for its failure, an agent's for what happened today. */
  readonly keptLogDays: { readonly build: number; readonly deploy: number }
}

/** What the planner and the stages ask for that is neither a statement nor the machine: a simulation answers it. */
export interface Network {
  readonly sendToUnit: SendToUnit
  readonly limitConnections: typeof limitConnections
  readonly dropDatabase: typeof dropDatabase
  /** @returns  the revision that answers at a public address; undefined while there is no good answer */
  readonly revisionBehind: (address: string) => Promise<string | undefined>
}

export interface PipelineContext {
  readonly db: Database
  readonly log: Log
  readonly clock: Clock
  readonly failures: MemberFailures
  readonly key: MasterKey
  readonly sources: { readonly git: Source<GitLocation>; readonly archive: Source<ArchiveLocation> }
  readonly machine: Machine
  /** Default: the network of this computer. */
  readonly network?: Network
  readonly edge: Edge
  readonly routing: Routing
  readonly limits: PipelineLimits
  /** Where the console is served, as browsers name it. */
  readonly consoleOrigins: readonly string[]
  readonly crashPoint: CrashPoint
}
