import type { Database } from "@superstep/toolkit/db/database"
import type { Hints } from "@superstep/toolkit/db/hints"
import type { Log } from "@superstep/toolkit/log/log"
import type { Streams } from "../events/streams.js"
import type { Peers } from "../servers/peers.js"
import type { Claimer } from "../servers/server.js"
import type { UrlRules } from "../webhooks/url-rules.js"
import type { Workers } from "../workers/port.js"
import type { Executor } from "./executor.js"
import type { Known } from "./known.js"
import type { Turns } from "./turns.js"

/** What the operations need. */
export interface Runs {
  readonly log: Log
  readonly db: Database
  readonly workers: Workers
  readonly streams: Streams
  readonly executor: Executor
  readonly claimer: Claimer
  readonly peers: Pick<Peers, "runWaits" | "stopRun">
  readonly hints: Pick<Hints, "send">
  /** The order in which requests for runs arrived, by thread. */
  readonly turns: Turns
  readonly known: Known
  /** How many runs may wait on one thread; 0: no limit. */
  readonly maxWaitingRuns: number
  /** Which URLs webhooks may have. */
  readonly webhooks: UrlRules
  /** Set when traces are recorded. A run's trace continues that of the request that created it. */
  readonly tracing?: { traceparent(): string | undefined } | undefined
}
