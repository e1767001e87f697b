/**
 * This machine as a `Machine`: units, builds and the edge are processes of it, artefacts are folders. Root gives each deployment a
 * user of its own and, where the system offers them, each unit a control group.
 */
import { mkdir } from "node:fs/promises"
import type { BuildLimits } from "@superstep/builder/build-request"
import { fetchableNode } from "@superstep/builder/fetch-node"
import { type InstalledNodes, installedNodes } from "@superstep/builder/installed-nodes"
import { type InstalledPythons, installedPythons } from "@superstep/builder/python/pythons"
import { edgeEntry } from "@superstep/edge/client"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { handOver } from "@superstep/toolkit/files/own-tree"
import type { Log } from "@superstep/toolkit/log/log"
import { processArtifacts } from "../parts/builds/artifacts.js"
import { processBuilds } from "../parts/builds/builds.js"
import { edgeFiles, edgeToken, prepareEdgeFolders } from "../parts/edge/edge-folders.js"
import { type EdgeOptions, type EdgeProcess, edgeOnThisMachine } from "../parts/edge/edge-process.js"
import { listenForWakeCalls } from "../parts/edge/wake-socket.js"
import { type MachineFolders, machineFolders, prepareFolders } from "../parts/files/folders.js"
import {
  controlUserOf,
  decideIsolation,
  edgeUserOf,
  type Isolation,
  IsolationRequired,
} from "../parts/isolation/isolation.js"
import { openPortsWarning } from "../parts/isolation/open-ports.js"
import type { Host, KeyFiles } from "../port/host.js"
import type { Machine, Units } from "../port/port.js"
import { type Cgroups, openCgroups } from "./cgroups/cgroups.js"
import { unitLimits } from "./cgroups/limits.js"

import { processUnits } from "./units/units.js"

/** What the machine process tells at the start; the values of the port that are no calls. */
export interface Facts {
  readonly homeId: string
  readonly unitSockets: string
  /** The namespace of a cluster in which units are Services; undefined for units with sockets. */
  readonly servicesIn: string | undefined
  readonly edgeUrl: string
  readonly wakeSocket: string
  readonly wakeToken: Secret
}

export interface ProcessMachineOptions {
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

/** What another kind of machine on this computer replaces: units that are no processes. Builds and the edge are the same. */
export interface OtherUnits {
  readonly units: Units
  readonly nodes: InstalledNodes
  readonly pythons: InstalledPythons
  /** The namespace of a cluster in which units are Services. */
  readonly servicesIn?: string
  /** Where projects are when they run. */
  readonly runsAt: string
  /** What it adds to the builds and artefacts of this computer. */
  around(local: Pick<Machine, "builds" | "artifacts">): Pick<Machine, "builds" | "artifacts">
  /** Called when all units have stopped, at the end. */
  close(): Promise<void>
}

/** What it gets to make them. */
export interface OtherUnitsPlace {
  readonly folders: MachineFolders
  readonly isolation: Isolation
  readonly pythons: InstalledPythons
}

export interface ProcessMachine extends Host {
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
 * @param openUnits       for units that are no processes
 * @throws ForeignFolder  the folder for sockets is in the temporary folder, and somebody else created it
 */
export async function openProcessMachine(
  options: ProcessMachineOptions,
  openUnits?: (place: OtherUnitsPlace) => Promise<OtherUnits>,
): Promise<ProcessMachine> {
  const { home, programs, environment, log, crashPoint } = options
  const folders = machineFolders(home)
  await prepareFolders(folders)
  const isolation = await isolationFor(options)
  const user = edgeUserOf(isolation)
  const controlUser = controlUserOf(isolation)
  await prepareEdgeFolders(folders, user, controlUser)
  await handOverFolders(options.controlFolders, controlUser)
  const token = await edgeToken(folders)
  const cgroups = openUnits ? undefined : await groupsOfUnits(options, isolation)
  const found = { nodes: nodesFor(options, folders), pythons: installedPythons(environment) }
  const other = await openUnits?.({ folders, isolation, pythons: found.pythons })
  const { nodes, pythons, runsAt } = other ?? { ...found, runsAt: undefined }
  const shared = { folders, isolation, nodes, pythons, runsAt, environment, log, crashPoint }
  const units = other?.units ?? processUnits({ ...shared, serverEntry: programs.server, cgroups })
  const verifying = { verifyEntry: programs.verify, verifyPython: programs.verifyPython }
  const localBuilds = processBuilds({ ...shared, ...verifying, limits: options.buildLimits })
  const edge = edgeOnThisMachine({ ...options.edge, ...shared, token, user })
  const files = edgeFiles(folders)
  const local = {
    builds: localBuilds,
    artifacts: processArtifacts({
      ...shared,
      limitMs: options.buildLimits.verifyMs,
      analyseEntry: programs.analyse,
    }),
  }
  const { builds, artifacts } = other?.around(local) ?? local
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
      servicesIn: other?.servicesIn,
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
      await other?.close()
      await edge.stop()
    },
    close: async () => cgroups?.close(),
  }
}

function nodesFor(
  { nodeDirs, fetchesNode, environment }: ProcessMachineOptions,
  folders: MachineFolders,
): InstalledNodes {
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
}: ProcessMachineOptions): Promise<Isolation> {
  const isolation = await decideIsolation(home, [process.execPath, ...Object.values(programs), edgeEntry])
  if (requiresIsolation && !edgeUserOf(isolation)) throw new IsolationRequired(isolation.warning)
  if (isolation.warning) log.warn({}, isolation.warning)
  const openPorts = edgeUserOf(isolation) && (await openPortsWarning([apiPort, edge.port, edge.httpPort ?? []].flat()))
  if (openPorts) log.warn({}, openPorts)
  return isolation
}

async function groupsOfUnits(
  { homeId, home, environment, log }: ProcessMachineOptions,
  isolation: Isolation,
): Promise<Cgroups | undefined> {
  const user = isolation.user(0)
  const { cgroups, problem } = await openCgroups({ homeId, home }, user)
  const held = cgroups?.held ?? new Set()
  const limits = unitLimits({ isIsolated: user !== undefined, held, path: environment.PATH ?? "" })
  log.info({ limits, control_group: cgroups?.folder, why_not_more: problem }, "limits of units")
  return cgroups
}
