/** Creates the parts of an agent server. Nothing is started here. */
import { basename } from "node:path"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Hints } from "@superstep/toolkit/db/hints"
import type { Log } from "@superstep/toolkit/log/log"
import { SourceAnalysis } from "./assistants/source-analysis.js"
import { checkpointCalls } from "./checkpoints/calls.js"
import { Journal } from "./checkpoints/journal.js"
import type { Config } from "./config.js"
import { Streams } from "./events/streams.js"
import { Gate } from "./gate/gate.js"
import type { OwnChannel } from "./gate/own-channel.js"
import { createMetrics } from "./metrics/metrics.js"
import { type Project, toWorkerProject } from "./project/langgraph-config.js"
import { defaultsOf, projectWithEnv } from "./project-settings.js"
import { ClaimLoop, localServer } from "./runs/claim-loop.js"
import { Executor } from "./runs/executor.js"
import { Known } from "./runs/known.js"
import { observeWith } from "./runs/observer.js"
import { Turns } from "./runs/turns.js"
import { leaseTimes } from "./servers/lease-times.js"
import { Peers } from "./servers/peers.js"
import { countOutcomes } from "./serving/run-outcomes.js"
import { storeCalls } from "./store/calls.js"
import { embedBy } from "./store/embedder.js"
import { storeSettings } from "./store/store-settings.js"
import { defaultTtlOf } from "./threads/sweep.js"
import { SpanWriter } from "./tracing/span-writer.js"
import { traceOf } from "./tracing/trace-setting.js"
import type { Tracing } from "./tracing/tracing.js"
import { UiBundles } from "./ui/bundles.js"
import type { Limits } from "./workers/child.js"
import { createWorkerPool, defaultLimits, type WorkerPool } from "./workers/pool.js"
import { ProjectCrashes } from "./workers/project-crashes.js"
import { retryWhileDatabaseIsAway } from "./workers/retried-calls.js"

/** The input of `assemble`. */
export interface Assembly {
  readonly config: Config
  /** The id of this server: the configured one, unless another server uses it. */
  readonly serverId: string
  readonly db: Database
  /** For what graphs read, so that slow reads delay no writes of runs. */
  readonly calls: Database
  /** A separate connection for leases, so that busy connections never cost a run its lease. */
  readonly leases: Db
  readonly log: Log
  readonly env: NodeJS.ProcessEnv
  readonly project: Project
  readonly channel: OwnChannel
  readonly tracing: Tracing | undefined
}

export type Parts = ReturnType<typeof assemble>

/** Creates all parts that routes, loops and reloads share. */
export function assemble({ config, serverId, db, calls, leases, log, env, project, channel, tracing }: Assembly) {
  const { leaseMs, sweepMs, maxGapMs } = leaseTimes(config.leaseSeconds * 1000)
  const claimer = { serverId, revisionId: config.revisionId ?? null, leaseMs }
  const hints = new Hints({ db, log })
  const peers = new Peers({ db, log, hints, self: claimer })
  const streams = new Streams({
    db,
    hints,
    log,
    serverId: claimer.serverId,
    threadTtlMs: config.resumableTtlSeconds * 1000,
  })
  const journal = new Journal({ db, log })
  const store = { ...storeSettings(project.store), db, embed: embedBy(() => workers) }
  const checkpoints = checkpointCalls({ db: calls, journal })
  const crashes = new ProjectCrashes()
  const name = config.name ?? basename(project.folder)
  const workers: WorkerPool = createWorkerPool({
    name,
    project: projectWithEnv(project, config),
    workers: config.workers,
    python: config.python,
    handlers: retryWhileDatabaseIsAway({ ...checkpoints, ...storeCalls({ ...store, db: calls }) }),
    backlog: () => journal.backlog(),
    serverEnv: env,
    limits: workerLimits(config),
    crashes,
    loopback: channel.loopback,
    log,
  })
  const gate = new Gate({
    name,
    log,
    serverEnv: env,
    limits: workerLimits(config),
    python: config.python,
    crashes,
    loopback: channel.loopback,
  })
  const sources = new SourceAnalysis({
    project: toWorkerProject(project),
    timeoutMs: config.schemaTimeoutMs,
    keeps: config.revisionId === undefined,
    log,
  })
  const runTimeoutMs = config.runTimeoutSeconds * 1000
  const metrics = createMetrics()
  const outcomes = countOutcomes()
  const spans = new SpanWriter({ db, log, hasContent: config.traces === "full" })
  const traces = config.traces === "off" ? [] : [spans.observer]
  const observers = [...metrics.observers, outcomes.observer, ...traces, ...(tracing ? [tracing.observer] : [])]
  const executor = new Executor({
    db,
    leases,
    log,
    workers,
    streams,
    journal,
    claimer,
    peers,
    runTimeoutMs,
    observer: observeWith(observers, log),
    traceOf: traceOf(config.traces, tracing && { hasContent: config.exportsContent }),
  })
  const loop = new ClaimLoop({
    db,
    leases,
    log,
    executor,
    streams,
    claimer,
    peers,
    hints,
    sweepMs,
    maxGapMs,
    graceMs: leaseMs,
  })
  workers.onFree(() => loop.slotFreed())
  const ui = new UiBundles(log)
  return {
    claimer,
    turns: new Turns(),
    known: new Known(),
    hints,
    streams,
    workers,
    crashes,
    store,
    gate,
    journal,
    executor,
    loop,
    peers,
    /** More observers may be added. */
    observers,
    startPeers: () => peers.start(localServer(loop, executor)),
    metrics,
    modelUse: config.traces === "off" ? () => null : metrics.modelUse,
    outcomes,
    spans,
    tracing,
    ui,
    sources,
    graphDefaults: defaultsOf(project, config),
    defaultTtl: defaultTtlOf(project.checkpointer.ttl),
  }
}

// A stalled worker is detected at a ping, so there must be several pings within the limit.
const pingsPerStallLimit = 4

function workerLimits({ jobsPerWorker, workerMemoryMb, workerStalledSeconds }: Config): Partial<Limits> {
  const stalledMs = workerStalledSeconds * 1000
  const pingEveryMs = Math.min(defaultLimits.pingEveryMs, stalledMs / pingsPerStallLimit)
  return { maxRuns: jobsPerWorker, memoryMb: workerMemoryMb, stalledMs, pingEveryMs }
}
