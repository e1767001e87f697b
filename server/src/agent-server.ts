/**
 * Everything that makes up a running agent server, started in order and stopped in the opposite one.
 *
 * Stopping: claim nothing more; let runs end within the grace time; end the workers, which returns what is left to the
 * queue; close the streams, whose clients join again elsewhere; close the listener and the database.
 */
import { fileURLToPath } from "node:url"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { migrate } from "@superstep/toolkit/db/migrate"
import { untilReachable } from "@superstep/toolkit/db/until-reachable"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { type Listening, listen } from "@superstep/toolkit/http/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { createApp } from "./app.js"
import { graphDefaults } from "./assistants/graph-defaults.js"
import { insertSystemAssistants } from "./assistants/queries.js"
import { SourceAnalysis } from "./assistants/source-analysis.js"
import { checkpointCalls } from "./checkpoints/calls.js"
import { ClaimWrites } from "./checkpoints/claim-writes.js"
import type { Config } from "./config.js"
import { CronLoop } from "./crons/cron-loop.js"
import { forgetOldEvents } from "./events/forget-events.js"
import { RunStreams } from "./events/run-streams.js"
import { Gate } from "./gate/gate.js"
import { toGateProject } from "./gate/gate-project.js"
import { callOwnRoute, type OwnChannel, openOwnChannel } from "./gate/own-channel.js"
import { fetchOf } from "./http/raw-response.js"
import { httpSettings } from "./http/settings.js"
import { isTracedToLangsmith } from "./meta/info.js"
import { createMetrics } from "./metrics/metrics.js"
import { startHotReload } from "./project/hot-reload.js"
import { nameableEnv, type Project, readProject, toWorkerProject } from "./project/langgraph-config.js"
import { ClaimLoop } from "./runs/claim-loop.js"
import { Executor } from "./runs/executor.js"
import { observeWith } from "./runs/observer.js"
import { activate } from "./serving/routes.js"
import { storeCalls } from "./store/calls.js"
import { embedBy } from "./store/embedder.js"
import { storeSettings } from "./store/store-settings.js"
import { startSweepingItems } from "./store/sweep-items.js"
import { startSweeping } from "./threads/sweep.js"
import { startTracing } from "./tracing/start-tracing.js"
import type { Tracing } from "./tracing/tracing.js"
import { UiBundles } from "./ui/bundles.js"
import { DeliveryLoop } from "./webhooks/delivery-loop.js"
import { webhookSettings } from "./webhooks/settings.js"
import type { Limits } from "./workers/child.js"
import { patient } from "./workers/patient-calls.js"
import { createWorkerPool, usualLimits, type WorkerPool } from "./workers/pool.js"
import type { GraphFailure } from "./workers/port.js"
import { projectEnv } from "./workers/worker-env.js"

// How often claims of lost servers are looked for: often enough for a lease of any length.
const mostSweepMs = 5_000
const sweepsPerLease = 3

// Postgres replays its log after a crash, which takes longer the more was going on; a wrong address is told after that.
const databaseMs = 30_000

const migrations = fileURLToPath(new URL("../src/migrations", import.meta.url))

export interface AgentServer {
  readonly listening: Listening
  readonly graphs: readonly string[]
  stop(): Promise<void>
}

export interface AgentServerOptions {
  readonly config: Config
  readonly version: string
  readonly log: Log
  /** The process's environment, of which a worker gets only PATH, HOME and the like. */
  readonly env: NodeJS.ProcessEnv
}

/**
 * Starts a server. It listens as soon as its database is ready, and is `ready` once every worker has told what it could
 * load.
 * @throws InvalidInput  when the project's configuration cannot be used
 */
export async function startAgentServer({ config, version, log, env }: AgentServerOptions): Promise<AgentServer> {
  const project = await readProject(config.configPath, nameableEnv(config, env))
  for (const warning of project.warnings) log.warn({ warning }, "langgraph.json")
  const webhooks = webhooksOf(project, config, env)
  const uri = config.databaseUri.reveal()
  await untilReachable(() => migrate({ uri, folder: migrations, log }), { forMs: databaseMs, log })
  const db = openDatabase({ uri, poolSize: config.poolSize, log })
  const channel = await openOwnChannel()
  const tracing = await startTracing(env, version)
  const parts = { ...assemble({ config, db, log, env, project, channel, tracing }), webhooks }
  const { workers, gate, streams, writes, executor, loop, claimer, ui, sources } = parts

  let isReady = false
  const http = httpSettings(project.http, config)
  const app = createApp({
    ...parts,
    channel,
    db,
    log,
    version,
    isDev: config.isDev,
    http,
    unitToken: config.unitToken,
    apiKeys: config.apiKeys,
    maxBodyBytes: config.maxBodyBytes,
    limits: config,
    maxWaitingRuns: config.maxWaitingRuns,
    isReady: () => isReady,
    tracesToLangsmith: isTracedToLangsmith(projectWithEnv(project, config).env),
    authDocument: project.auth.openapi ?? {},
  })
  await streams.start()
  await channel.listen(fetchOf(app), http.mountPrefix)
  const listening = await listen(fetchOf(app), config.listen)
  ui.build(uiProject(project, config, env))
  const [report, refused] = await Promise.all([workers.start(), gate.replace(toGateProject(project, config.agentEnv))])
  for (const { graphId, message } of report.failed)
    log.error({ graph_id: graphId, detail: message }, "graph failed to load")
  tellRefused(refused, config, log)
  if (claimer.revisionId === null) await activate({ ...parts, db, revisionId: null })
  await executor.start()
  await loop.start()
  const crons = new CronLoop({ ...parts, db, log })
  await crons.start()
  const deliveries = new DeliveryLoop({
    db,
    log,
    settings: webhooks,
    revisionId: claimer.revisionId,
    callOwnRoute: (call) => callOwnRoute(channel, call),
  })
  await deliveries.start()
  const stopForgetting = forgetOldEvents(db, { ttlSeconds: config.resumableTtlSeconds, log })
  const stopSweeping = await startSweeping(db, { ttl: project.checkpointer.ttl, log })
  const stopSweepingItems = startSweepingItems(parts.store, log)
  const watch = config.reload
    ? await reloadOnChange({ config, db, log, env, project, channel, tracing }, parts)
    : undefined
  isReady = true
  log.info({ port: listening.port, graphs: report.graphs, revision_id: claimer.revisionId }, "server ready")

  const stop = async () => {
    watch?.close()
    stopForgetting()
    await crons.stop()
    await stopSweeping()
    stopSweepingItems()
    await loop.stop()
    await sources.close()
    await workers.stop(config.shutdownGraceSeconds * 1000)
    writes.close()
    streams.stopWaiting()
    await executor.close()
    await deliveries.stop()
    await streams.close()
    await listening.close(1000)
    await gate.stop()
    await channel.close()
    await tracing?.close()
    await db.close()
  }
  return { listening, graphs: report.graphs, stop }
}

/**
 * A project whose auth module or app does not load answers every request with an error, so alone it is of no use: a
 * developer mends it, and a unit's supervisor asks for the reason.
 */
function tellRefused(refused: readonly GraphFailure[], { isDev, revisionId }: Config, log: Log): void {
  for (const { graphId, message } of refused)
    log.error({ part: graphId, detail: message }, "project code failed to load")
  if (refused.length === 0 || isDev || revisionId !== undefined) return
  throw new InvalidInput(
    refused.map(({ graphId, message }) => ({ path: ["langgraph.json", graphId], message, type: "value_error" })),
  )
}

interface Reloaded {
  readonly workers: WorkerPool
  readonly sources: SourceAnalysis
  readonly gate: Gate
  readonly ui: UiBundles
}

interface Assembly {
  readonly config: Config
  readonly db: Database
  readonly log: Log
  readonly env: NodeJS.ProcessEnv
  readonly project: Project
  readonly channel: OwnChannel
  readonly tracing: Tracing | undefined
}

function assemble({ config, db, log, env, project, channel, tracing }: Assembly) {
  const leaseMs = config.leaseSeconds * 1000
  const sweepMs = Math.min(mostSweepMs, leaseMs / sweepsPerLease)
  const claimer = { serverId: config.serverId, revisionId: config.revisionId ?? null, leaseMs }
  const streams = new RunStreams({
    db,
    log,
    serverId: claimer.serverId,
    threadTtlMs: config.resumableTtlSeconds * 1000,
  })
  const writes = new ClaimWrites({ db, log })
  const store = { ...storeSettings(project.store), db, embed: embedBy(() => workers) }
  const checkpoints = checkpointCalls({ db, writes, beforePut: (runId) => streams.untilLogged(runId) })
  const workers: WorkerPool = createWorkerPool({
    project: projectWithEnv(project, config),
    workers: config.workers,
    jobsPerWorker: config.jobsPerWorker,
    python: config.python,
    handlers: patient({ ...checkpoints, ...storeCalls(store) }),
    backlog: () => writes.backlog(),
    serverEnv: env,
    limits: workerLimits(config),
    loopback: channel.socketPath,
    log,
  })
  const gate = new Gate({ log, serverEnv: env, limits: workerLimits(config), loopback: channel.socketPath })
  const sources = new SourceAnalysis({ project: toWorkerProject(project), timeoutMs: config.schemaTimeoutMs, log })
  const runTimeoutMs = config.runTimeoutSeconds * 1000
  const metrics = createMetrics()
  const observer = observeWith([metrics.observer, ...(tracing ? [tracing.observer] : [])])
  const executor = new Executor({ db, log, workers, streams, writes, claimer, runTimeoutMs, observer })
  const loop = new ClaimLoop({ db, log, executor, streams, claimer, sweepMs, graceMs: leaseMs })
  workers.onFree(() => loop.slotFreed())
  const ui = new UiBundles(log)
  return {
    claimer,
    streams,
    workers,
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
  }
}

/** @throws InvalidInput  a header names a variable that is not set: better at the start than at every call */
const webhooksOf = ({ webhooks, http, env }: Project, config: Config, serverEnv: NodeJS.ProcessEnv) =>
  webhookSettings({
    webhooks,
    http,
    env: { ...nameableEnv(config, serverEnv), ...env, ...config.agentEnv },
    isDev: config.isDev,
    privateNetworks: config.webhookPrivateNetworks,
    signingSecret: config.webhookSigningSecret,
  })

const defaultsOf = (project: Project, config: Config) =>
  graphDefaults(project.graphs, projectWithEnv(project, config).env.LANGGRAPH_CONFIG ?? config.langgraphConfig)

// A worker is found to be stalled at a ping, so there must be a few of them within the limit.
const pingsPerStall = 4

function workerLimits({ workerMemoryMb, workerStalledSeconds }: Config): Partial<Limits> {
  const stalledMs = workerStalledSeconds * 1000
  const pingEveryMs = Math.min(usualLimits.pingEveryMs, stalledMs / pingsPerStall)
  return { memoryMb: workerMemoryMb, stalledMs, pingEveryMs }
}

/** What the platform sets for an agent wins over what its project sets. */
function projectWithEnv(project: Project, { agentEnv }: Config) {
  const { env, ...rest } = toWorkerProject(project)
  return { ...rest, env: { ...env, ...agentEnv } }
}

/** What is bundled for browsers, in the environment that the graphs' code has. */
const uiProject = ({ folder, ui, uiConfig, env: own }: Project, { agentEnv }: Config, env: NodeJS.ProcessEnv) => ({
  folder,
  ui,
  shared: uiConfig.shared ?? [],
  env: projectEnv(env, { ...own, ...agentEnv }),
})

/** The auth module, the app, the components and the assistants of new graphs follow each reload. */
function reloadOnChange({ config, db, log, env, project }: Assembly, { workers, gate, ui, sources }: Reloaded) {
  const onReload = async (changed: Project) => {
    sources.reload(toWorkerProject(changed))
    ui.build(uiProject(changed, config, env))
    tellRefused(await gate.replace(toGateProject(changed, config.agentEnv)), config, log)
    try {
      await insertSystemAssistants(db, workers.report().graphs, defaultsOf(changed, config))
    } catch (err) {
      // The graphs serve all the same.
      log.warn({ err }, "the assistants of the graphs could not be brought up to date")
    }
  }
  const serverEnv = nameableEnv(config, env)
  return startHotReload({ project, workers, serverEnv, agentEnv: config.agentEnv, log, onReload })
}
