/**
 * What an operator sees of a server over time. Runs that end here are counted as they do; what is true now is asked for
 * at a scrape, with one statement, and counts the runs of all servers of the database.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import type { RunStreams } from "../events/run-streams.js"
import type { RunObserver } from "../runs/observer.js"
import type { Workers } from "../workers/port.js"
import { addProcessMetrics } from "./process-metrics.js"
import { countLiveRuns } from "./queries.js"

export interface Metrics {
  readonly observer: RunObserver
  /** @param sources  what is asked at a scrape */
  scrape(sources: MetricSources): Promise<Registry>
}

export interface MetricSources {
  readonly db: Db
  readonly streams: Pick<RunStreams, "openStreams">
  readonly workers: Pick<Workers, "deaths" | "freeSlots" | "fullWorkers">
}

// From "nobody noticed" to a minute, which is where a queue is a complaint.
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
// Runs wait for models: up to the hour that is the usual limit.
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
    help: "How long attempts of runs executed on this server.",
    buckets: runSeconds,
    registers,
  })
  const queueWait = new Histogram({
    name: "superstep_queue_wait_seconds",
    help: "How long runs waited, once their time had come, until this server began to execute them.",
    buckets: seconds,
    registers,
  })
  const firstEvent = new Histogram({
    name: "superstep_time_to_first_event_seconds",
    help: "From the start of an attempt to the first event of its graph.",
    buckets: seconds,
    registers,
  })
  const now = addPresent(registry)
  addProcessMetrics(registry)

  const observer: RunObserver = {
    started({ attempt, waitedMs = 0 }) {
      const startedAt = performance.now()
      const elapsedSeconds = () => (performance.now() - startedAt) / 1000
      // A later attempt waited for its predecessor's end, which says nothing of the queue.
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
    observer,
    scrape: async (sources) => {
      await now(sources)
      return registry
    },
  }
}

/** What is true at the moment of a scrape. @returns what reads it */
function addPresent(registry: Registry) {
  const registers = [registry]
  const isUp = new Gauge({ name: "superstep_database_up", help: "1 while the database answers.", registers })
  const runs = new Gauge({
    name: "superstep_runs",
    help: "Runs that are not over, of all servers of this database, by status.",
    labelNames: ["status"],
    registers,
  })
  const depth = new Gauge({
    name: "superstep_queue_depth",
    help: "Pending runs whose time has come, of all servers of this database.",
    registers,
  })
  const streams = new Gauge({
    name: "superstep_open_streams",
    help: "Runs that are streamed to clients by this server.",
    registers,
  })
  const slots = new Gauge({
    name: "superstep_free_slots",
    help: "How many more runs this server would begin at this moment.",
    registers,
  })
  const full = new Gauge({
    name: "superstep_full_workers",
    help: "Worker processes of this server that take no more runs at the moment, by what stops them.",
    labelNames: ["limit"],
    registers,
  })
  const restarts = new Counter({
    name: "superstep_worker_restarts_total",
    help: "Worker processes that died without having been told to, and were replaced.",
    registers,
  })

  return async ({ db, streams: { openStreams }, workers }: MetricSources): Promise<void> => {
    streams.set(openStreams)
    slots.set(workers.freeSlots())
    for (const [limit, count] of Object.entries(workers.fullWorkers())) full.set({ limit }, count)
    restarts.reset()
    restarts.inc(workers.deaths)
    // What a database that is away cannot tell is left out; the rest is wanted most just then.
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
