/** Assembles the parts. Nothing runs before `startControlPlane` is called, and nothing after `stop`. */

import { randomUUID } from "node:crypto"
import { createRequire } from "node:module"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import type { Host } from "@superstep/machines/port/host"
import { InvalidSettings } from "@superstep/toolkit/config/settings"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { inspectServer, type ServerFacts } from "@superstep/toolkit/db/inspect-server"
import { migrate } from "@superstep/toolkit/db/migrate"
import { restrictToOwner } from "@superstep/toolkit/db/provision"
import { untilReachable } from "@superstep/toolkit/db/until-reachable"
import { type ListenAddress, type Listening, listen } from "@superstep/toolkit/http/listen"
import { isThisMachine } from "@superstep/toolkit/http/this-machine"
import { tlsFilesOf } from "@superstep/toolkit/http/tls-files"
import { networks } from "@superstep/toolkit/http/trusted-proxies"
import type { Log } from "@superstep/toolkit/log/log"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { realClock } from "@superstep/toolkit/time/clock"
import { createApp } from "./app.js"
import { type LogTarget, startBackground } from "./background.js"
import { codeComparer, comparedLimits } from "./code-changes/operations.js"
import { gitOf, sourcesOf } from "./code-sources.js"
import {
  agentsUrlOf,
  apiUrlOf,
  type Config,
  consoleOriginsOf,
  defaultQuotasOf,
  gitProtocolsOf,
  isForThisMachine,
  ownNamesOf,
} from "./config.js"
import { type Folders, foldersOf } from "./home/folders.js"
import { removeLeftovers, restoredFromOf } from "./home/home.js"
import {
  type Candidate,
  type NotInCharge,
  sessionInCharge,
  sharedHome,
  stayInCharge,
  takeDatabase,
} from "./home/home-in-charge.js"
import { installationIdOf } from "./home/home-queries.js"
import { authorityOf, authorityProblem } from "./host-names/authority-settings.js"
import { centralOf, listenerSettingsProblem } from "./listeners/mirror/settings.js"
import { listenerExists } from "./listeners/operations.js"
import { sinkOf, sinkProblem } from "./log-forwarding/sink.js"
import { LiveLogs } from "./logs/live-logs.js"
import { loadMasterKey } from "./master-key.js"
import type { RunTotals } from "./metrics/sampler.js"
import { oidcProblem, providerOf } from "./people/oidc/settings.js"
import { defaultBuilds, startPipeline } from "./pipeline/pipeline.js"
import { startReconciler } from "./pipeline/reconciler.js"
import type { PipelineContext, PipelineLimits } from "./planner/context.js"
import type { CrashPoint } from "./planner/crash-points.js"
import { startPlanner } from "./planner/planner.js"
import { prepareUnits, takeRestoredUnits } from "./planner/platform-start.js"
import { startPushWork } from "./previews/background.js"
import { freeFormerClaims } from "./revisions/claims.js"
import { wakeDeployment } from "./revisions/sleep-queries.js"
import { pipelineChannel } from "./revisions/wake-up.js"
import { createRouting } from "./routing/routing.js"
import { standbyApp } from "./standby-app.js"
import { removeFormerFiles, storeFormerFiles } from "./uploads/former-files.js"
import type { AddressRules } from "./webhooks/address-rules.js"

export interface ControlPlane {
  readonly port: number
  /** @param all  also stop builds, agents and the edge, which otherwise go on */
  stop(options: { readonly all: boolean }): Promise<void>
}

const migrations = fileURLToPath(new URL("../src/migrations", import.meta.url))
const consoleFolder = fileURLToPath(new URL("../../console/site", import.meta.url))
const docsFolder = fileURLToPath(new URL("../../docs/site", import.meta.url))
const { version } = createRequire(import.meta.url)("../package.json") as { version: string }
// At boot the database may start at the same time as this process.
const databaseMs = 30_000
// A poll reads a short list of branches, and others wait for their polls meanwhile.
const pollTimeoutMs = 30_000
// Requests of the API are short.
const closeMs = 5000
// Nearly all that the planner and the pipeline do takes less.
const handOverMs = 3000

/** A place of one computer. This process, or the one that started it, has the lock of the data folder. */
export interface OwnPlace {
  /** The id of the data folder, by which its objects on the machine are recognized. */
  readonly homeId: string
  readonly host: Host
}

/** Units and edges that other computers reach too, so that another control plane may stand by there. */
export interface SharedPlace {
  /** Called once, when this process is in charge. @param installationId  in place of the id of a data folder */
  openHost(installationId: string): Promise<Host>
}

export interface ControlPlaneOptions {
  readonly config: Config
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  readonly place: OwnPlace | SharedPlace
  /** Of the API. */
  readonly address: ListenAddress
  readonly crashPoint: CrashPoint
  /** Ends the wait of one that stands by. */
  readonly giveUp: AbortSignal
  /** Called when another process has taken over: nothing can be written any more, so this one has to end at once. */
  readonly onLost: (error: NotInCharge) => void
}

/** In a shared place it resolves when this process is in charge; until then it stands by. */
export async function startControlPlane(input: ControlPlaneOptions): Promise<ControlPlane> {
  const { config, log, place } = input
  const logTarget = allowedSink(config)
  const isShared = "openHost" in place
  refuse(authorityProblem(config) ?? oidcProblem(config) ?? listenerSettingsProblem(config))
  refuse(isShared ? sharedKeyProblem(config) : certificateProblem(config, place.host))
  const folders = foldersOf(config.home)
  await removeLeftovers(folders)
  const uri = config.databaseUri.reveal()
  const server = await untilReachable(() => inspectServer(uri), { forMs: databaseMs, log })
  const candidate = {
    homeId: isShared ? sharedHome : place.homeId,
    restoredFrom: await restoredFromOf(folders),
    processId: randomUUID(),
    standsBy: isShared,
  }
  await takeMigrated(input, candidate)
  const db = openDatabase({ uri, log, onSession: sessionInCharge(candidate.processId, input.onLost) })
  const undo: (() => Promise<unknown>)[] = [() => db.close()]
  try {
    const leaveDatabase = stayInCharge({ db, log }, candidate.processId, input.onLost)
    undo.push(leaveDatabase)
    const own = isShared ? await openShared(place, db) : place
    refuse(certificateProblem(config, own.host))
    return await startParts(input, { ...own, folders, server, db, leaveDatabase, logTarget, undo })
  } catch (error) {
    for (const step of undo.toReversed()) await step()
    throw error
  }
}

/** @throws InvalidSettings  when there is a problem */
function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new InvalidSettings(`cannot start:\n  ${problem}`)
}

async function openShared({ openHost }: SharedPlace, db: Database): Promise<OwnPlace> {
  const homeId = await installationIdOf(db)
  return { homeId, host: await openHost(homeId) }
}

const certificateProblem = (config: Config, { edge }: Host): string | undefined =>
  authorityOf(config) && edge.whyNoCertificates

/** A key in the data folder of one computer would not be found by the next one in charge. */
const sharedKeyProblem = ({ masterKey, masterKeyFile }: Config): string | undefined =>
  masterKey || masterKeyFile
    ? undefined
    : "SUPERSTEP_MASTER_KEY: set it, or SUPERSTEP_MASTER_KEY_FILE, since other control planes need the same key"

/** Takes the database and migrates it. While another process is in charge, its API answers that this one stands by. */
async function takeMigrated(
  { config, log, address, giveUp }: ControlPlaneOptions,
  candidate: Candidate,
): Promise<void> {
  const uri = config.databaseUri.reveal()
  await using db = openDatabase({ uri, log })
  let answering: Listening | undefined
  const onStandBy = async () => {
    const tls = tlsFilesOf(config.tlsCert, config.tlsKey)
    answering = await listen(standbyApp(log).fetch, address, tls && { files: tls, log })
    log.info({ host: config.host, port: answering.port }, "control plane stands by: another one is in charge")
  }
  try {
    // Before the migration, too: another folder's database, or one that is in use, must not be migrated to our release.
    await takeDatabase(db, candidate, { onStandBy, signal: giveUp })
    await migrate({ uri, folder: migrations, log })
    await restrictToOwner(uri)
    await takeDatabase(db, candidate, { onStandBy, signal: giveUp })
  } finally {
    await answering?.close(0)
  }
}

const addressRulesOf = (config: Config): AddressRules => ({
  allowsLoopback: isForThisMachine(config),
  allowsPrivate: config.webhookPrivateNetworks,
})

/**
 * Where log lines go, and which addresses that may be: the operator names it, and may run a collector beside a proxy.
 * @throws InvalidSettings  they may not be sent there
 */
function allowedSink(config: Config): LogTarget | undefined {
  const sink = sinkOf(config)
  if (!sink) return undefined
  const rules = { ...addressRulesOf(config), allowsLoopback: isThisMachine(config.host) }
  const problem = sinkProblem(rules, sink)
  refuse(problem && `SUPERSTEP_LOG_FORWARD_URL: ${problem}`)
  return { sink, rules }
}

/** The base of all parts. */
interface Foundation extends OwnPlace {
  readonly folders: Folders
  readonly server: ServerFacts
  readonly db: Database
  readonly leaveDatabase: () => Promise<void>
  readonly logTarget: LogTarget | undefined
  /** Functions that stop what was started, in the order of the starts. */
  readonly undo: (() => Promise<unknown>)[]
}

/**
 * The port comes first: if it is in use, nothing is left running. From then on requests are stored in the database, where
 * the pipeline finds them.
 */
async function startParts(
  input: ControlPlaneOptions,
  { homeId, host, folders, server, db, leaveDatabase, logTarget, undo }: Foundation,
): Promise<ControlPlane> {
  const { config, log } = input
  const { edge } = host
  const context = await createContext({ ...input, host, folders, server, db })
  const stopping = new AbortController()
  let isStarting = true
  const webhookRules = addressRulesOf(config)
  const liveLogs = new LiveLogs({ db, log })
  const runTotals: RunTotals = new Map()
  const app = createApp({
    db,
    log,
    liveLogs,
    key: context.key,
    agentsUrl: agentsUrlOf(config),
    gitProtocols: gitProtocolsOf(config),
    resourceTiers: config.resourceTiers,
    defaultQuotas: defaultQuotasOf(config),
    publishRoutes: context.routing.publish,
    isStopping: () => stopping.signal.aborted,
    isStarting: () => isStarting,
    stopping: stopping.signal,
    webhookSecrets: config.webhookSecret,
    webhookRules,
    hostNames: {
      ownNames: ownNamesOf(config),
      certFile: config.tlsCert,
      hasAuthority: authorityOf(config) !== undefined,
    },
    place: { folder: folders.home, certFile: config.tlsCert },
    failing: () => context.failures.problems(),
    runTotals: () => [...runTotals.values()],
    edgeTallies: async () => (await edge.status()).deployments,
    edgeTables: edge.tables,
    pollMs: config.pollMs,
    crashPoint: context.crashPoint,
    publicUrl: config.publicUrl,
    consoleOrigins: context.consoleOrigins,
    oidcProvider: providerOf(config),
    consoleFolder,
    docsFolder,
    version,
    trustedProxies: networks.parse(config.trustedProxies),
    keyFailuresPerMinute: config.keyFailuresPerMinute,
    logQuotaBytes: context.limits.logQuotaBytes,
    readCodeChanges: codeComparer({
      ...context,
      sources: sourcesOf({ ...input, folders }, comparedLimits),
      folder: folders.comparedCode,
      path: input.environment.PATH ?? "",
    }),
  })
  const tls = tlsFilesOf(config.tlsCert, config.tlsKey)
  const listening = await listen(app.fetch, input.address, tls && { files: tls, log })
  undo.push(() => listening.close(0))

  await takeRestoredUnits(context, folders)
  await prepareUnits(context, await edge.isAlive())
  await edge.ensure()
  const stopWakeCalls = await host.listenForWakeCalls((deploymentId) => wakeDeployment(db, deploymentId))
  undo.push(stopWakeCalls)
  await freeFormerClaims(db, homeId)
  await storeFormerFiles(db, folders.formerUploads)

  const pipeline = startPipeline(context, `${homeId}/${randomUUID()}`)
  const planner = startPlanner(context)
  const reconciler = startReconciler(context)
  const wake = (changed?: string) => {
    pipeline.wake()
    planner.wake(changed)
    reconciler.wake()
  }
  undo.push(() => Promise.all([pipeline.stop(), planner.stop(), reconciler.stop()]))
  const background = await startBackground(context, {
    ...config,
    webhookRules,
    logTarget,
    authority: authorityOf(config),
    runTotals,
    reportOf: planner.reportOf,
    central: centralOf(config),
    caller: { homeId, version },
    agentsUrl: agentsUrlOf(config),
  })
  undo.push(background.stop)
  const pushWork = await startPushWork({
    ...context,
    listenerExists,
    git: gitOf({ ...input, folders }, { timeoutMs: Math.min(config.sourceMs, pollTimeoutMs) }),
    gitProtocols: gitProtocolsOf(config),
    defaultQuotas: defaultQuotasOf(config),
    pollMs: config.pollMs,
    agentsUrl: agentsUrlOf(config),
    apiUrl: apiUrlOf(config),
    allowsLoopback: isForThisMachine(config),
  })
  undo.push(pushWork.stop)
  const subscription = await db.listen(pipelineChannel, wake, () => wake())
  wake()
  await removeFormerFiles(folders.formerUploads)
  isStarting = false
  log.info({ host: config.host, port: listening.port, home: config.home }, "control plane listens")

  const stop = async ({ all }: { all: boolean }) => {
    stopping.abort()
    await liveLogs.close()
    // Before the port is free for a successor, whose wake socket has the same path.
    await stopWakeCalls()
    const works = Promise.all([pipeline.stop(), planner.stop(), reconciler.stop(), background.stop(), pushWork.stop()])
    await listening.close(closeMs)
    await subscription.close()
    // A successor repeats what is not done, as after a kill: the start of a pod may take minutes, in which nobody would answer.
    await (all ? works : Promise.race([works, sleep(handOverMs, undefined, { ref: false })]))
    if (all) await host.stopAll(config.stopGraceMs)
    await leaveDatabase()
    await db.close()
    log.info({ units_and_edge: all ? "stopped" : "running" }, "control plane stopped")
  }
  return { port: listening.port ?? config.port, stop }
}

async function createContext({
  config,
  environment,
  log,
  folders,
  server,
  db,
  host,
  crashPoint,
}: ControlPlaneOptions & Pick<Foundation, "host" | "folders" | "server" | "db">): Promise<PipelineContext> {
  const routed = {
    db,
    log,
    key: await loadMasterKey({ config, folders, log, keyFiles: host.keyFiles }, db),
    machine: host,
    edge: host.edge,
    limits: limitsOf(config, server),
    consoleOrigins: consoleOriginsOf(config),
    crashPoint,
  }
  return {
    ...routed,
    routing: createRouting(routed),
    clock: realClock,
    failures: new MemberFailures(log),
    sources: sourcesOf({ config, environment, folders }),
  }
}

// For the control plane's own pool, its migrations, and the administration of roles and databases.
const ownConnections = 20

const limitsOf = (config: Config, server: ServerFacts): PipelineLimits => ({
  connections: config.databaseConnections ?? Math.max(0, server.mostConnections - ownConnections),
  sourceMs: config.sourceMs,
  healthMs: config.healthMs,
  verifyRouteMs: 30_000,
  drainMs: config.drainMs,
  watchMs: config.watchMs,
  hangMs: config.hangMs,
  stopGraceMs: config.stopGraceMs,
  requestsPerSecond: config.requestsPerSecond,
  idleMs: config.idleMs,
  scaleDownMs: config.scaleDownMs,
  defaultQuotas: defaultQuotasOf(config),
  builds: config.maxBuilds ?? defaultBuilds(),
  buildsOfAWorkspace: config.buildsPerWorkspace,
  diskOfAWorkspaceMb: config.diskPerWorkspaceMb,
  keptArtifacts: config.keepArtifacts,
  logQuotaBytes: config.logQuotaMb * 1024 * 1024,
  keptLogDays: { build: config.buildLogDays, deploy: config.logDays },
})
