/**
 * The server's Prometheus metrics. Runs are counted when they end on this server. Gauges of the present state are read at
 * each scrape with one statement and include the runs of all servers of the database.
 */
import type { ModelUse } from "@superstep/protocol/unit/replies"
import type { Db } from "@superstep/toolkit/db/database"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { brokenRules } from "@superstep/toolkit/errors/must"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import type { Streams } from "../events/streams.js"
import type { RunObserver } from "../runs/observer.js"
import type { Workers } from "../workers/port.js"
import { countModelUse } from "./model-use.js"
import { addProcessMetrics } from "./process-metrics.js"
import { countLiveRuns } from "./queries.js"

export interface Metrics {
  readonly observers: readonly RunObserver[]
  /** What models used since the start of this server. */
  modelUse(): ModelUse
  /** @param sources  where a scrape reads the present state */
  scrape(sources: MetricSources): Promise<Registry>
}

export interface MetricSources {
  readonly db: Db
  readonly streams: Pick<Streams, "openStreams">
  readonly workers: Pick<Workers, "deaths" | "freeSlots" | "fullWorkers">
}

// From 5 ms, which is not noticeable, to a minute, about which users complain.
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
// Runs wait for models. The usual limit of a run is one hour.
const runSeconds = [0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const ended = new Counter({
    name: "superstep_runs_ended_total",
    help: "Runs that ended on this server, by status.",
    labelNames: ["status"],
    registers,
  })
  const duration = new Histogram({
    name: "superstep_run_duration_seconds",
    help: "Duration of attempts of runs on this server.",
    buckets: runSeconds,
    registers,
  })
  const queueWait = new Histogram({
    name: "superstep_queue_wait_seconds",
    help: "Time from when runs were due until this server started their first attempt.",
    buckets: seconds,
    registers,
  })
  const firstEvent = new Histogram({
    name: "superstep_time_to_first_event_seconds",
    help: "From the start of an attempt to the first event of its graph.",
    buckets: seconds,
    registers,
  })
  const models = countModelUse(registry)
  const now = addPresent(registry)
  addProcessMetrics(registry)

  const observer: RunObserver = {
    started({ attempt, waitedMs = 0 }) {
      const startedAt = performance.now()
      const elapsedSeconds = () => (performance.now() - startedAt) / 1000
      // A later attempt waited for the end of the previous one, not in the queue.
      if (attempt === 1) queueWait.observe(waitedMs / 1000)
      return {
        firstEvent: () => firstEvent.observe(elapsedSeconds()),
        ended: (status) => {
          if (status !== "released") ended.inc({ status })
          duration.observe(elapsedSeconds())
        },
      }
    },
  }
  return {
    observers: [observer, models.observer],
    modelUse: models.report,
    scrape: async (sources) => {
      await now(sources)
      return registry
    },
  }
}

/** Adds the gauges of the present state. @returns the function that reads them */
function addPresent(registry: Registry) {
  const registers = [registry]
  const isUp = new Gauge({ name: "superstep_database_up", help: "1 while the database answers.", registers })
  const runs = new Gauge({
    name: "superstep_runs",
    help: "Pending and running runs of all servers of this database, by status.",
    labelNames: ["status"],
    registers,
  })
  const depth = new Gauge({
    name: "superstep_queue_depth",
    help: "Pending runs that are due, of all servers of this database.",
    registers,
  })
  const streams = new Gauge({
    name: "superstep_open_streams",
    help: "Clients that this server streams runs or threads to; WebSockets count, too.",
    registers,
  })
  const slots = new Gauge({
    name: "superstep_free_slots",
    help: "How many more runs this server could start now.",
    registers,
  })
  const full = new Gauge({
    name: "superstep_full_workers",
    help: "Worker processes of this server that accept no more runs at the moment, by the limit they reached.",
    labelNames: ["limit"],
    registers,
  })
  const restarts = new Counter({
    name: "superstep_worker_restarts_total",
    help: "Worker processes that exited unexpectedly and were replaced.",
    registers,
  })

  const broken = new Counter({
    name: "superstep_broken_rules_total",
    help: "Rules of Superstep itself that did not hold, by rule. Each is a bug: report it.",
    labelNames: ["rule"],
    registers,
  })

  return async ({ db, streams: { openStreams }, workers }: MetricSources): Promise<void> => {
    streams.set(openStreams)
    slots.set(workers.freeSlots())
    for (const [limit, count] of Object.entries(workers.fullWorkers())) full.set({ limit }, count)
    broken.reset()
    for (const [rule, count] of brokenRules) broken.inc({ rule }, count)
    restarts.reset()
    restarts.inc(workers.deaths)
    // Without a database its gauges are left out. The other metrics are needed most during such an outage.
    const counts = await countLiveRuns(db).catch((error: unknown) => {
      if (error instanceof Unavailable) return undefined
      throw error
    })
    isUp.set(counts ? 1 : 0)
    runs.reset()
    depth.reset()
    if (!counts) {
      depth.remove()
      return
    }
    runs.set({ status: "pending" }, counts.pending)
    runs.set({ status: "running" }, counts.running)
    depth.set(counts.due)
  }
}
