/** Puts the parts together. Nothing runs before `startControlPlane` is called, and nothing of it after `stop`. */
import { randomUUID } from "node:crypto"
import { fileURLToPath } from "node:url"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { inspectServer, type ServerFacts } from "@superstep/toolkit/db/inspect-server"
import { migrate } from "@superstep/toolkit/db/migrate"
import { keepOthersOut } from "@superstep/toolkit/db/provision"
import { listen } from "@superstep/toolkit/http/listen"
import { tlsFilesOf } from "@superstep/toolkit/http/tls-files"
import type { Log } from "@superstep/toolkit/log/log"
import { createApp } from "./app.js"
import { startBackground } from "./background.js"
import { installedNodes } from "./builders/installed-nodes.js"
import { agentsUrlOf, apiUrlOf, type Config, gitProtocolsOf, isLoopback } from "./config.js"
import { edgeEntry } from "./edge/client.js"
import { networks } from "./edge/config.js"
import { openHome } from "./home.js"
import { stayInCharge, takeDatabase } from "./home-in-charge.js"
import { knowsHomes } from "./home-queries.js"
import { LiveLogs } from "./logs/live-logs.js"
import { loadMasterKey } from "./master-key.js"
import type { PipelineContext, PipelineLimits } from "./pipeline/context.js"
import { crashPoints } from "./pipeline/crash-points.js"
import { edgeFiles, edgeToken, prepareEdgeFolders } from "./pipeline/edge-folders.js"
import { edgeOnThisMachine } from "./pipeline/edge-process.js"
import { type Folders, foldersOf } from "./pipeline/folders.js"
import { defaultBuilds, startPipeline } from "./pipeline/pipeline.js"
import { prepareUnits } from "./pipeline/platform-start.js"
import { startReconciler } from "./pipeline/reconciler.js"
import { stopBuilds } from "./pipeline/stop-builds.js"
import { listenForWakeCalls } from "./pipeline/wake-socket.js"
import { startPushWork } from "./pushes/background.js"
import { freeFormerClaims } from "./revisions/claims.js"
import { pipelineChannel } from "./revisions/wake-up.js"
import { type Cgroups, openCgroups } from "./runtimes/cgroups.js"
import { decideIsolation, edgeUserOf, type Isolation } from "./runtimes/isolation.js"
import { unitLimits } from "./runtimes/limits.js"
import { openPortsWarning } from "./runtimes/open-ports.js"
import { processRuntime } from "./runtimes/process.js"
import { archiveSource } from "./sources/archive.js"
import { gitSource } from "./sources/git.js"

/** The programs that the control plane starts and knows nothing else of. */
export interface Programs {
  /** The agent server's main file. */
  readonly server: string
  /** Loads a project's graphs and writes down which fail. */
  readonly verify: string
}

export interface ControlPlane {
  readonly port: number
  /** @param all  also end builds, agents and the edge, which otherwise go on */
  stop(options: { readonly all: boolean }): Promise<void>
}

const migrations = fileURLToPath(new URL("../src/migrations", import.meta.url))
// Requests of the API are short.
const closeMs = 5000

export async function startControlPlane(input: {
  readonly config: Config
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  readonly programs: Programs
}): Promise<ControlPlane> {
  const { config, log } = input
  const folders = foldersOf(config.home)
  const homeId = await openHome(folders)
  const uri = config.databaseUri.reveal()
  const server = await inspectServer(uri)
  const db = openDatabase({ uri, log })
  const undo: (() => Promise<unknown>)[] = [() => db.close()]
  try {
    // Before the migration, too: another folder's database is not brought to our release.
    if (await knowsHomes(db)) await takeDatabase(db, homeId)
    await migrate({ uri, folder: migrations, log })
    await keepOthersOut(uri)
    await takeDatabase(db, homeId)
    const leaveDatabase = stayInCharge({ db, log }, homeId)
    undo.push(leaveDatabase)
    return await startParts(input, { folders, homeId, server, db, leaveDatabase, undo })
  } catch (error) {
    for (const step of undo.toReversed()) await step()
    throw error
  }
}

/** What the parts stand on. */
interface Foundation {
  readonly folders: Folders
  readonly homeId: string
  readonly server: ServerFacts
  readonly db: Database
  readonly leaveDatabase: () => Promise<void>
  /** Gets what has to be ended, in the order in which it began. */
  readonly undo: (() => Promise<unknown>)[]
}

/**
 * The port comes first: one that is in use leaves nothing running. What is asked from then on works against the
 * database, where the pipeline finds it.
 */
async function startParts(
  input: Parameters<typeof startControlPlane>[0],
  { folders, homeId, server, db, leaveDatabase, undo }: Foundation,
): Promise<ControlPlane> {
  const { config, log } = input
  const context = await createContext({ ...input, folders, homeId, server, db })
  const stopping = new AbortController()
  let isStarting = true
  const webhookRules = { allowsLoopback: isLoopback(config.host), allowsPrivate: config.webhookPrivateNetworks }
  const liveLogs = new LiveLogs({ db, log })
  const app = createApp({
    db,
    log,
    liveLogs,
    key: context.key,
    agentsUrl: agentsUrlOf(config),
    gitProtocols: gitProtocolsOf(config),
    resourceTiers: config.resourceTiers,
    unitsPerWorkspace: config.unitsPerWorkspace,
    isStopping: () => stopping.signal.aborted,
    isStarting: () => isStarting,
    stopping: stopping.signal,
    webhookSecrets: config.webhookSecret,
    webhookRules,
    edgeTallies: async () => (await edge.status()).deployments,
    pollMs: config.pollMs,
    uploadsFolder: folders.uploads,
    crashPoint: context.crashPoint,
    publicUrl: config.publicUrl,
    trustedProxies: networks.parse(config.trustedProxies),
    keyFailuresPerMinute: config.keyFailuresPerMinute,
  })
  const tls = tlsFilesOf(config.tlsCert, config.tlsKey)
  const address = { host: config.host, port: config.port }
  const listening = await listen(app.fetch, address, tls && { files: tls, log })
  undo.push(() => listening.close(0))

  const user = edgeUserOf(context.isolation)
  await prepareEdgeFolders(folders, user)
  const token = await edgeToken(folders)
  const edge = edgeOnThisMachine({
    ...config,
    token,
    user,
    port: config.agentsPort,
    folders,
    tls,
    environment: input.environment,
    log,
    crashPoint: context.crashPoint,
  })
  await prepareUnits(context, await edge.isAlive())
  await edge.ensure()
  const stopWakeCalls = await listenForWakeCalls(edgeFiles(folders).wakeSocket, { db, log, token, user })
  undo.push(stopWakeCalls)
  await freeFormerClaims(db, homeId)

  const pipelineContext = { ...context, edge }
  const pipeline = startPipeline(pipelineContext, `${homeId}/${randomUUID()}`)
  const reconciler = startReconciler(pipelineContext)
  const wake = () => {
    pipeline.wake()
    reconciler.wake()
  }
  undo.push(() => Promise.all([pipeline.stop(), reconciler.stop()]))
  const background = await startBackground(pipelineContext, { ...config, webhookRules })
  undo.push(background.stop)
  const pushWork = await startPushWork({
    ...context,
    git: gitSource({
      protocols: gitProtocolsOf(config),
      environment: input.environment,
      timeoutMs: config.sourceMs,
      homeFolder: folders.gitHome,
      keysFolder: folders.gitKeys,
    }),
    gitProtocols: gitProtocolsOf(config),
    unitsPerWorkspace: config.unitsPerWorkspace,
    pollMs: config.pollMs,
    agentsUrl: agentsUrlOf(config),
    apiUrl: apiUrlOf(config),
    allowsLoopback: isLoopback(config.host),
  })
  undo.push(pushWork.stop)
  const subscription = await db.listen(pipelineChannel, wake, wake)
  wake()
  isStarting = false
  log.info({ host: config.host, port: listening.port, home: config.home }, "control plane listens")

  const stop = async ({ all }: { all: boolean }) => {
    stopping.abort()
    await liveLogs.close()
    // Before the port is free for a successor, whose wake socket has the same path.
    await stopWakeCalls()
    await listening.close(closeMs)
    await subscription.close()
    await Promise.all([pipeline.stop(), reconciler.stop(), background.stop(), pushWork.stop()])
    if (all) await stopEverything(pipelineContext, edge.stop)
    await context.cgroups?.close()
    await leaveDatabase()
    await db.close()
    log.info({ units_and_edge: all ? "stopped" : "go on" }, "control plane stopped")
  }
  return { port: listening.port ?? config.port, stop }
}

async function createContext(input: {
  readonly config: Config
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  readonly programs: Programs
  readonly folders: Folders
  readonly homeId: string
  readonly server: ServerFacts
  readonly db: Database
}): Promise<Omit<PipelineContext, "edge">> {
  const { config, environment, log, programs, folders, server, db } = input
  const isolation = await decideIsolation(folders.home, [process.execPath, programs.server, programs.verify, edgeEntry])
  const crashPoint = crashPoints(config.crashAt)
  if (isolation.warning) log.warn({}, isolation.warning)
  const openPorts = edgeUserOf(isolation) && (await openPortsWarning([config.port, config.agentsPort]))
  if (openPorts) log.warn({}, openPorts)
  const cgroups = await groupsOfUnits(input, isolation)
  return {
    db,
    log,
    folders,
    environment,
    isolation,
    key: await loadMasterKey({ config, folders, log }, db),
    sources: {
      git: gitSource({
        protocols: gitProtocolsOf(config),
        environment,
        timeoutMs: config.sourceMs,
        homeFolder: folders.gitHome,
        keysFolder: folders.gitKeys,
      }),
      archive: archiveSource(),
    },
    runtime: processRuntime({
      unitsFolder: folders.units,
      socketsFolder: folders.unitSockets,
      serverEntry: programs.server,
      isolation,
      cgroups,
      environment,
      crashPoint,
    }),
    cgroups,
    limits: limitsOf(config, server),
    nodes: installedNodes(config.nodeDirs, environment),
    verifyEntry: programs.verify,
    crashPoint,
  }
}

async function groupsOfUnits(
  {
    homeId,
    folders,
    environment,
    log,
  }: Pick<Parameters<typeof createContext>[0], "homeId" | "folders" | "environment" | "log">,
  isolation: Isolation,
): Promise<Cgroups | undefined> {
  const user = isolation.user(0)
  const { cgroups, problem } = await openCgroups({ homeId, home: folders.home }, user)
  const held = cgroups?.held ?? new Set()
  const limits = unitLimits({ isIsolated: user !== undefined, held, path: environment.PATH ?? "" })
  log.info({ limits, control_group: cgroups?.folder, why_not_more: problem }, "what units are held to")
  return cgroups
}

// The control plane's own pool, its migrations, and the work on roles and databases.
const ownConnections = 20

const limitsOf = (config: Config, server: ServerFacts): PipelineLimits => ({
  connections: config.databaseConnections ?? Math.max(0, server.mostConnections - ownConnections),
  installMs: config.installMs,
  buildMs: config.buildMs,
  silenceMs: config.silenceMs,
  verifyMs: config.verifyMs,
  memoryMb: config.buildMemoryMb,
  diskMb: config.buildDiskMb,
  healthMs: config.healthMs,
  verifyRouteMs: 30_000,
  drainMs: config.drainMs,
  watchMs: config.watchMs,
  hangMs: config.hangMs,
  stopGraceMs: config.stopGraceMs,
  requestsPerSecond: config.requestsPerSecond,
  idleMs: config.idleMs,
  builds: config.maxBuilds ?? defaultBuilds(),
  keptArtifacts: config.keepArtifacts,
  logQuotaBytes: config.logQuotaMb * 1024 * 1024,
  keptLogDays: { build: config.buildLogDays, deploy: config.logDays },
})

async function stopEverything(context: PipelineContext, stopEdge: () => Promise<void>): Promise<void> {
  const { runtime, limits, folders } = context
  const units = await runtime.list()
  const stopped = units.map((unitId) => runtime.stop(unitId, { graceMs: limits.stopGraceMs }))
  await Promise.all([...stopped, stopBuilds(folders)])
  await stopEdge()
}
