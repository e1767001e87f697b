/** The parts of an agent server, put together; nothing is started here. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { SourceAnalysis } from "./assistants/source-analysis.js"
import { checkpointCalls } from "./checkpoints/calls.js"
import { ClaimWrites } from "./checkpoints/claim-writes.js"
import type { Config } from "./config.js"
import { RunStreams } from "./events/run-streams.js"
import { Gate } from "./gate/gate.js"
import type { OwnChannel } from "./gate/own-channel.js"
import { createMetrics } from "./metrics/metrics.js"
import { type Project, toWorkerProject } from "./project/langgraph-config.js"
import { defaultsOf, projectWithEnv } from "./project-settings.js"
import { ClaimLoop } from "./runs/claim-loop.js"
import { Executor } from "./runs/executor.js"
import { leaseTimes } from "./runs/lease-times.js"
import { observeWith } from "./runs/observer.js"
import { Turns } from "./runs/turns.js"
import { storeCalls } from "./store/calls.js"
import { embedBy } from "./store/embedder.js"
import { storeSettings } from "./store/store-settings.js"
import { defaultTtlOf } from "./threads/sweep.js"
import type { Tracing } from "./tracing/tracing.js"
import { UiBundles } from "./ui/bundles.js"
import type { Limits } from "./workers/child.js"
import { patient } from "./workers/patient-calls.js"
import { createWorkerPool, usualLimits, type WorkerPool } from "./workers/pool.js"
import { ProjectCrashes } from "./workers/project-crashes.js"

/** What they are made from. */
export interface Assembly {
  readonly config: Config
  /** That of this process: the setting's, unless another server has it. */
  readonly serverId: string
  readonly db: Database
  /** One connection for statements on leases alone: whatever occupies the others costs no run. */
  readonly leases: Db
  readonly log: Log
  readonly env: NodeJS.ProcessEnv
  readonly project: Project
  readonly channel: OwnChannel
  readonly tracing: Tracing | undefined
}

export type Parts = ReturnType<typeof assemble>

/** Makes every part that routes, loops and reloads share. */
export function assemble({ config, serverId, db, leases, log, env, project, channel, tracing }: Assembly) {
  const { leaseMs, sweepMs, mostGapMs } = leaseTimes(config.leaseSeconds * 1000)
  const claimer = { serverId, revisionId: config.revisionId ?? null, leaseMs }
  const streams = new RunStreams({
    db,
    log,
    serverId: claimer.serverId,
    threadTtlMs: config.resumableTtlSeconds * 1000,
  })
  const writes = new ClaimWrites({ db, log })
  const store = { ...storeSettings(project.store), db, embed: embedBy(() => workers) }
  const checkpoints = checkpointCalls({ db, writes, beforePut: (runId) => streams.untilLogged(runId) })
  const crashes = new ProjectCrashes()
  const workers: WorkerPool = createWorkerPool({
    project: projectWithEnv(project, config),
    workers: config.workers,
    python: config.python,
    handlers: patient({ ...checkpoints, ...storeCalls(store) }),
    backlog: () => writes.backlog(),
    serverEnv: env,
    limits: workerLimits(config),
    crashes,
    loopback: channel.loopback,
    log,
  })
  const gate = new Gate({ log, serverEnv: env, limits: workerLimits(config), crashes, loopback: channel.loopback })
  const sources = new SourceAnalysis({ project: toWorkerProject(project), timeoutMs: config.schemaTimeoutMs, log })
  const runTimeoutMs = config.runTimeoutSeconds * 1000
  const metrics = createMetrics()
  const observer = observeWith([metrics.observer, ...(tracing ? [tracing.observer] : [])])
  const executor = new Executor({ db, leases, log, workers, streams, writes, claimer, runTimeoutMs, observer })
  const loop = new ClaimLoop({ db, leases, log, executor, streams, claimer, sweepMs, mostGapMs, graceMs: leaseMs })
  workers.onFree(() => loop.slotFreed())
  const ui = new UiBundles(log)
  return {
    claimer,
    turns: new Turns(),
    streams,
    workers,
    crashes,
    store,
    gate,
    writes,
    executor,
    loop,
    metrics,
    tracing,
    ui,
    sources,
    graphDefaults: defaultsOf(project, config),
    defaultTtl: defaultTtlOf(project.checkpointer.ttl),
  }
}

// A worker is found to be stalled at a ping, so there must be a few of them within the limit.
const pingsPerStall = 4

function workerLimits({ jobsPerWorker, workerMemoryMb, workerStalledSeconds }: Config): Partial<Limits> {
  const stalledMs = workerStalledSeconds * 1000
  const pingEveryMs = Math.min(usualLimits.pingEveryMs, stalledMs / pingsPerStall)
  return { mostRuns: jobsPerWorker, memoryMb: workerMemoryMb, stalledMs, pingEveryMs }
}
