/**
 * Starts all parts of an agent server in order, and stops them in reverse order.
 *
 * Stopping: stop claiming; let running runs end within the grace time; stop the workers, which returns unfinished runs to
 * the queue; close the streams, whose clients reconnect to another server; close the listener and the database.
 */
import { fileURLToPath } from "node:url"
import { refuseUnsupportedServer } from "@superstep/toolkit/db/inspect-server"
import { migrate } from "@superstep/toolkit/db/migrate"
import { startSweep } from "@superstep/toolkit/db/sweeps"
import { untilReachable } from "@superstep/toolkit/db/until-reachable"
import { type Listening, listen } from "@superstep/toolkit/http/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { createApp } from "./app.js"
import type { Config } from "./config.js"
import { CronLoop } from "./crons/cron-loop.js"
import { openDatabases } from "./databases.js"
import { eventSweep } from "./events/sweep-events.js"
import { toGateProject } from "./gate/gate-project.js"
import { callOwnRoute, openOwnChannel } from "./gate/own-channel.js"
import { fetchOf } from "./http/raw-response.js"
import { httpSettings } from "./http/settings.js"
import { WebSockets } from "./http/web-sockets.js"
import { isTracedToLangsmith } from "./meta/info.js"
import { assemble } from "./parts.js"
import { nameableEnv, readProject } from "./project/langgraph-config.js"
import { projectWithEnv, uiProject, webhooksOf } from "./project-settings.js"
import { reloadOnChange, reportFailed, reportRefused } from "./reload.js"
import { runSweep } from "./runs/sweep-runs.js"
import { takeServerId } from "./servers/server-id.js"
import { activate } from "./serving/activation.js"
import { Readiness } from "./serving/readiness.js"
import { itemSweep } from "./store/sweep-items.js"
import { removalSweep, threadSweep } from "./threads/sweep.js"
import { startTracing } from "./tracing/start-tracing.js"
import { leftSpanSweep, spanSweep } from "./tracing/sweep-spans.js"
import { createDeliveryLoop } from "./webhooks/delivery-loop.js"
import { webhookObserver } from "./webhooks/observer.js"

// Time for Postgres to recover after a crash. A wrong address is reported after this time, too.
const databaseMs = 30_000

const migrations = fileURLToPath(new URL("../src/migrations", import.meta.url))
const consoleFolder = fileURLToPath(new URL("../../console/site", import.meta.url))

export interface AgentServer {
  readonly listening: Listening
  readonly graphs: readonly string[]
  stop(): Promise<void>
}

export interface AgentServerOptions {
  readonly config: Config
  readonly version: string
  readonly log: Log
  /** The environment of the process, with the content of its settings file. Workers receive only PATH, HOME and the like. */
  readonly env: NodeJS.ProcessEnv
}

/**
 * Starts a server. It listens as soon as its database is ready. Requests wait, and `/ok` is 503, until every worker has
 * loaded its graphs.
 * @throws InvalidInput  when the project's configuration is invalid
 * @throws UnsupportedServer  when the database is behind a pooler that shares sessions, or Postgres is too old
 */
export async function startAgentServer({ config, version, log, env }: AgentServerOptions): Promise<AgentServer> {
  const isDeployed = config.revisionId !== undefined
  const project = await readProject(config.configPath, nameableEnv(config, env), { isDeployed })
  for (const warning of project.warnings) log.warn({ warning }, "langgraph.json")
  const webhooks = webhooksOf(project, config, env)
  const uri = config.databaseUri.reveal()
  await untilReachable(() => refuseUnsupportedServer(uri), { forMs: databaseMs, log })
  await untilReachable(() => migrate({ uri, folder: migrations, log }), { forMs: databaseMs, log })
  const databases = openDatabases({
    uri,
    poolSize: config.poolSize,
    leaseMs: config.leaseSeconds * 1000,
    requestMs: config.requestStatementSeconds * 1000,
    log,
  })
  const { requests, engine: db, calls, leases } = databases
  const serverId = await takeServerId(db, { wanted: config.serverId, log })
  const channel = await openOwnChannel()
  const tracing = await startTracing(env, {
    version,
    hasContent: config.exportsContent && config.traces === "full",
  })
  const assembled = assemble({ config, serverId, db, calls, leases, log, env, project, channel, tracing })
  const parts = { ...assembled, webhooks, maxWaitingRuns: config.maxWaitingRuns }
  const { workers, gate, streams, journal, executor, loop, claimer, ui, sources, hints, peers, spans } = parts

  const readiness = new Readiness()
  const stopping = new AbortController()
  const http = httpSettings(project.http, config)
  const app = createApp({
    ...parts,
    channel,
    db: requests,
    store: { ...parts.store, db: requests },
    log,
    version,
    isDev: config.isDev,
    consoleFolder,
    http,
    unitToken: config.unitToken,
    apiKeys: config.apiKeys,
    maxBodyBytes: config.maxBodyBytes,
    limits: config,
    keepAliveMs: config.keepAliveSeconds * 1000,
    readiness,
    // The connection that already listens for messages of other servers.
    notifications: db,
    stopping: stopping.signal,
    tracesToLangsmith: isTracedToLangsmith(projectWithEnv(project, config).env),
    authDocument: project.auth.openapi ?? {},
  })
  await streams.start()
  await channel.listen(fetchOf(app), http.mountPrefix)
  const webSockets = new WebSockets(fetchOf(app))
  const listening = await listen(fetchOf(app), config.listen)
  listening.onUpgrade?.(webSockets.listener)
  ui.build(uiProject(project, config, env))
  const [report, refused] = await Promise.all([workers.start(), gate.replace(toGateProject(project, config.agentEnv))])
  reportFailed(report, config, log)
  reportRefused(refused, config, log)
  if (claimer.revisionId === null) await activate({ ...parts, db, revisionId: null })
  executor.startRenewing()
  await parts.startPeers()
  await loop.start()
  const crons = new CronLoop({ ...parts, db, log })
  await crons.start()
  const deliveries = createDeliveryLoop({
    db,
    log,
    settings: webhooks,
    revisionId: claimer.revisionId,
    callOwnRoute: (call) => callOwnRoute(channel, call),
  })
  if (deliveries) parts.observers.push(webhookObserver({ deliveries, hints, revisionId: claimer.revisionId }))
  await deliveries?.start()
  const sweeps = [
    eventSweep(db, {
      serverId,
      ttlSeconds: config.resumableTtlSeconds,
      readHere: () => [
        ...streams.runs.readFromLog(),
        ...streams.threads.readFromLog(),
        ...streams.protocol.readFromLog(),
      ],
    }),
    runSweep(db, config.keepRunsDays),
    spanSweep(db, config.keepTracesDays),
    leftSpanSweep(db),
    threadSweep(db, project.checkpointer.ttl, log),
    removalSweep(db),
    itemSweep(parts.store),
  ]
  const stopSweeps = sweeps.flatMap((sweep) => (sweep ? [startSweep(sweep, log)] : []))
  const watch = config.reload
    ? await reloadOnChange({ config, serverId, db, calls, leases, log, env, project, channel, tracing }, parts)
    : undefined
  readiness.markReady()
  log.info({ port: listening.port, graphs: report.graphs, revision_id: claimer.revisionId }, "server ready")

  const stop = async () => {
    watch?.close()
    ui.stop()
    await crons.stop()
    await Promise.all(stopSweeps.map((stopSweep) => stopSweep()))
    await loop.stop()
    await peers.leave()
    await sources.close()
    await workers.stop(config.shutdownGraceSeconds * 1000)
    journal.close()
    streams.stopWaiting()
    await executor.close()
    await spans.close()
    await peers.close()
    await deliveries?.stop()
    await streams.close()
    await webSockets.close(1000)
    await hints.close()
    stopping.abort()
    await listening.close(1000)
    await gate.stop()
    await channel.close()
    // An unavailable collector must not prevent an orderly shutdown.
    await tracing?.close().catch((err: unknown) => log.warn({ err }, "the last traces could not be sent"))
    await databases.close()
  }
  return { listening, graphs: report.graphs, stop }
}
