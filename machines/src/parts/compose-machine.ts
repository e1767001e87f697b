/**
 * Composes a machine on this computer: folders, users that isolate deployments, the edge, and builds and artifacts in folders are the same for
 * every kind. A kind adds a backend, which has its units and may replace builds and artifacts.
 */
import { mkdir } from "node:fs/promises"
import { fetchableNode } from "@superstep/builder/fetch-node"
import { type InstalledNodes, installedNodes } from "@superstep/builder/installed-nodes"
import { type InstalledPythons, installedPythons } from "@superstep/builder/python/pythons"
import { edgeEntry } from "@superstep/edge/client"
import type { BuildLimits } from "@superstep/protocol/build/request"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { handOver } from "@superstep/toolkit/files/own-tree"
import type { Log } from "@superstep/toolkit/log/log"
import type { Host, KeyFiles } from "../port/host.js"
import type { Artifacts, Builds, Units } from "../port/port.js"
import { localArtifacts } from "./builds/artifacts.js"
import { localBuilds } from "./builds/builds.js"
import { edgeFiles, edgeToken, prepareEdgeFolders } from "./edge/edge-folders.js"
import { type EdgeOptions, type EdgeProcess, edgeOnThisMachine } from "./edge/edge-process.js"
import { listenForWakeCalls } from "./edge/wake-socket.js"
import { type MachineFolders, machineFolders, prepareFolders } from "./files/folders.js"
import { controlUserOf, decideIsolation, edgeUserOf, type Isolation, IsolationRequired } from "./isolation/isolation.js"
import { openPortsWarning } from "./isolation/open-ports.js"
import type { UnitAddresses } from "./units/unit-address.js"

/** What the machine process tells at the start; the values of the port that are no calls. */
export interface Facts extends UnitAddresses {
  readonly homeId: string
  readonly edgeUrl: string
  readonly wakeSocket: string
  readonly wakeToken: Secret
}

export interface MachineOptions {
  /** The data folder. Nobody else uses it. */
  readonly home: string
  readonly homeId: string
  /** The main file of the agent server, those that check whether a project's graphs load, and the one that reads their schemas. */
  readonly programs: {
    readonly server: string
    readonly verify: string
    readonly verifyPython: string
    readonly analyse: string
  }
  readonly edge: Pick<
    EdgeOptions,
    "host" | "port" | "httpPort" | "logLevel" | "trustedProxies" | "tls" | "drainMs" | "hangMs"
  >
  /** The port of the control plane's API. */
  readonly apiPort: number
  /** Folders of the data folder that the control plane writes; they are created, and given to its user. */
  readonly controlFolders: readonly string[]
  readonly keyFiles: KeyFiles
  readonly buildLimits: BuildLimits
  /** Where Nodes are installed besides the usual places. */
  readonly nodeDirs: readonly string[]
  /** Whether the recommended Node is fetched for builds when this machine has only older ones. */
  readonly fetchesNode: boolean
  readonly environment: NodeJS.ProcessEnv
  /** Refuse to start where deployments are not isolated from each other. */
  readonly requiresIsolation?: boolean
  readonly log: Log
  /** Where a test kills this process. */
  readonly crashPoint: (name: string) => void
}

/** The parts on this computer that a kind of machine may wrap or replace. */
export interface Local {
  readonly builds: Builds
  readonly artifacts: Artifacts
}

/** What a kind of machine has of its own. */
export interface Backend {
  readonly units: Units
  /** What builds and units run on; those of this computer when undefined. */
  readonly toolchain?: { readonly nodes: InstalledNodes; readonly pythons: InstalledPythons }
  /** The namespace of a cluster in which units are Services; undefined for units with sockets. */
  readonly servicesIn?: string
  /** Where projects are when they run; where they are published when undefined. */
  readonly runsAt?: string
  /** The builds and artifacts of this kind, made of those of this computer; these when undefined. */
  wrap?(local: Local): Local
  /** Called at the end of `stopAll`, when all units have stopped. */
  afterStop?(): Promise<void>
  /** Called at the end; units go on. */
  close?(): Promise<void>
}

/** What this computer offers to a backend. */
export interface BackendPlace {
  readonly folders: MachineFolders
  readonly isolation: Isolation
  readonly nodes: InstalledNodes
  readonly pythons: InstalledPythons
}

export interface OpenedMachine extends Host {
  readonly edge: EdgeProcess
  /** The user that the control plane is to run as; undefined for our own. */
  readonly controlUser: OsUser | undefined
  /** What a control plane in another process needs to know. */
  readonly facts: Facts
  /** A copy of the operator's certificate and key that `controlUser` can read, in one file. */
  readonly certificateCopy: string
  /** Files that grow and may be rotated. */
  readonly logFiles: readonly string[]
  /** Call it at the end. What runs goes on. */
  close(): Promise<void>
}

/**
 * Creates the folders and starts nothing.
 * @throws ForeignFolder       the folder for sockets is in the temporary folder, and somebody else created it
 * @throws IsolationRequired   the settings require isolation, and there is none
 */
export async function composeMachine(
  options: MachineOptions,
  openBackend: (place: BackendPlace) => Promise<Backend>,
): Promise<OpenedMachine> {
  const { home, programs, environment, log, crashPoint } = options
  const folders = machineFolders(home)
  await prepareFolders(folders)
  const isolation = await isolationFor(options)
  const user = edgeUserOf(isolation)
  const controlUser = controlUserOf(isolation)
  await prepareEdgeFolders(folders, user, controlUser)
  await handOverFolders(options.controlFolders, controlUser)
  const token = await edgeToken(folders)
  const found = { nodes: nodesFor(options, folders), pythons: installedPythons(environment) }
  const backend = await openBackend({ folders, isolation, ...found })
  const { units, runsAt } = backend
  const shared = { folders, isolation, ...(backend.toolchain ?? found), runsAt, environment, log, crashPoint }
  const verifying = { verifyEntry: programs.verify, verifyPython: programs.verifyPython }
  const edge = edgeOnThisMachine({ ...options.edge, ...shared, token, user })
  const files = edgeFiles(folders)
  const local: Local = {
    builds: localBuilds({ ...shared, ...verifying, limits: options.buildLimits }),
    artifacts: localArtifacts({ ...shared, limitMs: options.buildLimits.verifyMs, analyseEntry: programs.analyse }),
  }
  const { builds, artifacts } = backend.wrap?.(local) ?? local
  return {
    units,
    builds,
    artifacts,
    edge,
    keyFiles: options.keyFiles,
    controlUser,
    facts: {
      homeId: options.homeId,
      unitSockets: folders.unitSockets,
      servicesIn: backend.servicesIn,
      edgeUrl: edge.url,
      wakeSocket: files.wakeSocket,
      wakeToken: token,
    },
    certificateCopy: files.tlsFile,
    listenForWakeCalls: (wake) => listenForWakeCalls(files.wakeSocket, wake, { log, token }),
    logFiles: [files.outputFile],
    stopAll: async (graceMs) => {
      const stopped = (await units.list()).map((unitId) => units.stop(unitId, { graceMs }))
      await Promise.all([...stopped, builds.stop()])
      await backend.afterStop?.()
      await edge.stop()
    },
    close: async () => backend.close?.(),
  }
}

function nodesFor({ nodeDirs, fetchesNode, environment }: MachineOptions, folders: MachineFolders): InstalledNodes {
  const nodes = installedNodes([...nodeDirs, folders.toolchain], environment)
  return { ...nodes, fetchable: fetchesNode ? fetchableNode({ ...folders, environment }) : undefined }
}

/** They were root's in releases before 0.2, and are again when there is no isolation any more. */
async function handOverFolders(folders: readonly string[], controlUser: OsUser | undefined): Promise<void> {
  for (const folder of folders) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (process.getuid?.() === 0) handOver(folder, controlUser ?? { uid: 0, gid: 0 })
  }
}

async function isolationFor({
  home,
  programs,
  apiPort,
  edge,
  log,
  requiresIsolation = false,
}: MachineOptions): Promise<Isolation> {
  const isolation = await decideIsolation(home, [process.execPath, ...Object.values(programs), edgeEntry])
  if (requiresIsolation && !edgeUserOf(isolation)) throw new IsolationRequired(isolation.warning)
  if (isolation.warning) log.warn({}, isolation.warning)
  const openPorts = edgeUserOf(isolation) && (await openPortsWarning([apiPort, edge.port, edge.httpPort ?? []].flat()))
  if (openPorts) log.warn({}, openPorts)
  return isolation
}
