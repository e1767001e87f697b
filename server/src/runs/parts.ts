import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunStreams } from "../events/run-streams.js"
import type { Tracing } from "../tracing/tracing.js"
import type { UrlRules } from "../webhooks/url-rules.js"
import type { Workers } from "../workers/port.js"
import type { Claimer } from "./claims.js"
import type { Executor } from "./executor.js"
import type { Turns } from "./turns.js"

/** What the operations stand on. */
export interface Runs {
  readonly log: Log
  readonly db: Database
  readonly workers: Workers
  readonly streams: RunStreams
  readonly executor: Executor
  readonly claimer: Claimer
  /** The order in which requests for runs arrived, by thread. */
  readonly turns: Turns
  /** How many runs may wait on one thread; 0 or absent: any number. */
  readonly maxWaitingRuns?: number
  /** Where runs may tell of their end. */
  readonly webhooks: UrlRules
  /** Where traces are made. */
  readonly tracing?: Tracing | undefined
}
