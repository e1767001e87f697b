/**
 * Units as processes of this machine. A unit is a folder: `pid.json` identifies its process, `out.log` has its output. It
 * runs in a session of its own, so neither a terminal's Ctrl-C nor our death reaches it.
 */

import { appendFile, chown, type FileHandle, mkdir, readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { type FetchableNode, NodeNotFetched } from "@superstep/builder/fetch-node"
import type { InstalledNodes } from "@superstep/builder/installed-nodes"
import { nearestNode, nodeVersionOf } from "@superstep/builder/platform"
import { readProjectConfig } from "@superstep/builder/project/project-facts"
import { type Address, unixAddress } from "@superstep/protocol/http/address"
import { writeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { ownNodeOptions } from "@superstep/toolkit/exec/own-program"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { processTree, processTrees } from "@superstep/toolkit/exec/process-tree"
import { usageOfTrees } from "@superstep/toolkit/exec/process-usage"
import { spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess, untilGone } from "@superstep/toolkit/exec/stop-process"
import { cutFile, mostKeptBytes, watchFile } from "@superstep/toolkit/files/growing-file"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { readLines } from "@superstep/toolkit/files/read-lines"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { bindUnixSocket } from "@superstep/toolkit/http/bound-socket"
import type { Log } from "@superstep/toolkit/log/log"
import { type MachineFolders, unitSocket } from "../../parts/files/folders.js"
import { edgeUserOf, type Isolation } from "../../parts/isolation/isolation.js"
import { withoutNewPrivileges } from "../../parts/isolation/no-new-privileges.js"
import { unitEnvironment, unitSecrets, unitSocketDescriptor } from "../../parts/units/unit-environment.js"
import type { UnitLogs, UnitSpec, UnitStatus, Units } from "../../port/port.js"
import { enteringArgv } from "../cgroups/cgroup.js"
import type { Cgroups } from "../cgroups/cgroups.js"
import { withLimits } from "../cgroups/limits.js"
import { readCuts, writeCuts } from "./cut-count.js"
import { findByTitle } from "./find-by-title.js"
import { unitGroups } from "./unit-groups.js"
import { recordProgram } from "./unit-program.js"

// An agent may run for years: its file is emptied when everything in it is stored.
const keptBytes = 10 * 1024 * 1024
// At this size its start is removed, stored or not: it prints faster than we store, or the database is away for long.
const mostBytes = 64 * 1024 * 1024
// A unit that prints constantly is noticed thousands of times a second.
const lookMs = 1000

export interface UnitsOptions {
  /**
   * `units` contains a folder for each unit. Only we may write to `unitSockets`, so that a connection is sure to reach the unit.
   */
  readonly folders: Pick<MachineFolders, "units" | "unitSockets" | "artifacts">
  /** The agent server's `main.js`. */
  readonly serverEntry: string
  readonly isolation: Pick<Isolation, "user">
  readonly nodes: InstalledNodes
  /** Undefined where the machine offers none. */
  readonly cgroups: Cgroups | undefined
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  /** Where a test kills this process. */
  readonly crashPoint?: (name: string) => void
}

export function processUnits(options: UnitsOptions): Units {
  const folderOf = (unitId: string) => join(options.folders.units, unitId)
  const socketPath = (unitId: string) => unitSocket(options.folders, unitId)
  const identityFile = (unitId: string) => join(folderOf(unitId), "pid.json")
  const logFile = (unitId: string) => join(folderOf(unitId), "out.log")
  const cutsFile = (unitId: string) => join(folderOf(unitId), "cuts.json")
  const startingFile = (unitId: string) => join(folderOf(unitId), "starting")
  const groups = options.cgroups && unitGroups(options.cgroups)

  /** A control plane that is killed right after it started a process has not stored its identity: it is found by its title. */
  const identityOf = async (unitId: string): Promise<ProcessIdentity | undefined> => {
    const starting = await readJson<Starting>(startingFile(unitId))
    if (starting !== undefined) {
      const found = await findByTitle(titleOf(unitId), starting.uid)
      if (found) await writeJson(identityFile(unitId), found)
      await rm(startingFile(unitId), { force: true })
    }
    return readJson<ProcessIdentity>(identityFile(unitId))
  }

  const status = async (unitId: string): Promise<UnitStatus> => {
    const identity = await identityOf(unitId)
    if (!identity) return { state: "absent" }
    if (await isAlive(identity)) return { state: "running" }
    const ranOutOfMb = await groups?.ranOutOfMb(unitId)
    return { state: "exited", ...(ranOutOfMb !== undefined && { ranOutOfMb }) }
  }

  /** The control group may have been deleted since our start: then a unit without limits is better than none. */
  const procsHandleFor = async ({ unitId, limits }: UnitSpec): Promise<FileHandle | undefined> => {
    try {
      return await groups?.prepare(unitId, limits)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const words = `this unit runs without limits: its control group cannot be created (${reason}); restart the control plane`
      await appendFile(logFile(unitId), `${words}\n`)
      return undefined
    }
  }

  const start = async (spec: UnitSpec): Promise<void> => {
    const { unitId } = spec
    if ((await status(unitId)).state === "running") return
    const folder = folderOf(unitId)
    const user = options.isolation.user(spec.deploymentNumber)
    const artifactFolder = join(options.folders.artifacts, spec.artifactId)
    const { env: configEnv } = await readProjectConfig(artifactFolder, spec.configPath)
    const nodePath = await nodeFor(spec, options)
    await mkdir(folder, { recursive: true, mode: 0o755 })
    for (const path of [join(folder, "tmp"), join(folder, "data")]) {
      await mkdir(path, { recursive: true, mode: 0o700 })
      if (user) await chown(path, user.uid, user.gid)
    }
    await inTurn(unitId, async () => writeCuts(cutsFile(unitId), await readCuts(cutsFile(unitId))))
    await recordProgram(folder, { deploymentId: spec.deploymentId, entry: options.serverEntry })
    const place = { folder, settingsFile: join(folder, "tmp", "settings.json"), artifactFolder, configEnv }
    await writeSettingsFile(place.settingsFile, unitSecrets(spec, place, options.environment), user)
    await writeJson(startingFile(unitId), { since: new Date().toISOString(), uid: user?.uid } satisfies Starting)
    await using procsHandle = await procsHandleFor(spec)
    await mkdir(options.folders.unitSockets, { recursive: true, mode: 0o700 })
    using socket = await bindUnixSocket(socketPath(unitId), edgeUserOf(options.isolation)?.gid)
    const path = options.environment.PATH ?? ""
    const argv = withLimits(
      [nodePath, ...ownNodeOptions, `--title=${titleOf(unitId)} ${spec.name} server`, options.serverEntry],
      {
        isIsolated: user !== undefined,
        held: (procsHandle && options.cgroups?.held) ?? new Set(),
        path,
      },
    )
    const limited = withoutNewPrivileges(argv, path)
    const identity = await spawnDetached({
      argv: procsHandle ? enteringArgv(limited, unitSocketDescriptor + 1) : limited,
      extraDescriptors: [socket.descriptor, ...(procsHandle ? [procsHandle.fd] : [])],
      cwd: artifactFolder,
      env: unitEnvironment(spec, place, options.environment),
      user,
      outputFile: join(folder, "out.log"),
    })
    options.crashPoint?.("unit:after-spawn")
    await writeJson(identityFile(unitId), identity)
    await rm(startingFile(unitId), { force: true })
  }

  /** The servers of those that run. */
  const processesOf = async (unitIds: readonly string[]): Promise<{ unitId: string; pid: number }[]> => {
    const found = await Promise.all(unitIds.map(async (unitId) => ({ unitId, identity: await identityOf(unitId) })))
    const alive = found.map(async ({ unitId, identity }) =>
      identity && (await isAlive(identity)) ? [{ unitId, pid: identity.pid }] : [],
    )
    return (await Promise.all(alive)).flat()
  }

  const usage: Units["usage"] = async (unitIds) => {
    const running = await processesOf(unitIds)
    const trees = await usageOfTrees(running.map(({ pid }) => pid))
    const usageOf = (leader: number) =>
      (trees.get(leader) ?? []).map(({ pid, cpuSeconds, rssBytes }) => ({ key: String(pid), cpuSeconds, rssBytes }))
    return new Map(running.map(({ unitId, pid }) => [unitId, usageOf(pid)]))
  }

  const memoryMb = async (unitIds: readonly string[]): Promise<ReadonlyMap<string, number>> => {
    const running = await processesOf(unitIds)
    // By group where it has one; else, as for a unit of an older release, by the process tree.
    const grouped = new Map<string, number | "held">()
    for (const { unitId } of running) {
      const used = await groups?.memoryMb(unitId)
      if (used !== undefined) grouped.set(unitId, used)
    }
    const others = running.filter(({ unitId }) => !grouped.has(unitId))
    const trees = others.length === 0 ? new Map() : processTrees(others.map(({ pid }) => pid))
    return new Map([
      ...[...grouped].filter((it): it is [string, number] => it[1] !== "held"),
      ...others.map(({ unitId, pid }) => [unitId, trees.get(pid)?.memoryMb ?? 0] as const),
    ])
  }

  const kill = async (unitId: string): Promise<void> => {
    const identity = await identityOf(unitId)
    await groups?.kill(unitId)
    if (!identity || !(await isAlive(identity))) return
    // The server first: it would start replacing its workers.
    for (const pid of [identity.pid, ...processTree(identity.pid).pids]) killNow(pid)
    await untilGone(identity, Number.POSITIVE_INFINITY)
  }

  const stop = async (unitId: string, { graceMs }: { graceMs: number }): Promise<void> => {
    const identity = await identityOf(unitId)
    // The process group is the server's own. Workers have their own groups and end with their server; what a graph started
    // ends with the control group (README, "Processes after a stop").
    if (identity) await stopProcess(identity, { graceMs, group: true })
    await groups?.remove(unitId)
    // A requested end is no crash.
    await rm(identityFile(unitId), { force: true })
  }

  /** By unit: the bytes of its present file that the last read returned. They may be stored, or on their way. */
  const lastRead = new Map<string, { readonly start: number; readonly next: number }>()

  const remove = async (unitId: string): Promise<void> => {
    await rm(socketPath(unitId), { force: true })
    lastRead.delete(unitId)
    await removeTree(folderOf(unitId))
  }

  const list = async (): Promise<string[]> => {
    await mkdir(options.folders.units, { recursive: true })
    return [...new Set([...(await readdir(options.folders.units)), ...((await groups?.list()) ?? [])])]
  }

  /** Removes the start of a unit's output, up to `from` at least. @returns how often that was done */
  const cut = async (unitId: string, cuts: number, from: number): Promise<number> => {
    // Before the cut: a place from before it would point into the lines that follow. After a kill in between, lines are read again.
    await writeCuts(cutsFile(unitId), cuts + 1)
    cutFile(logFile(unitId), from)
    lastRead.set(unitId, { start: 0, next: 0 })
    return cuts + 1
  }

  /** By unit: settles with the last work on its output that was asked for. */
  const works = new Map<string, Promise<unknown>>()

  /** One read or cut of a unit at a time: a cut moves what another read is about to look at, or cuts the rest that was kept. */
  const inTurn = <T>(unitId: string, work: () => Promise<T>): Promise<T> => {
    const result = (works.get(unitId) ?? Promise.resolve()).then(work)
    const settled = result
      .catch(() => undefined)
      .then(() => {
        if (works.get(unitId) === settled) works.delete(unitId)
      })
    works.set(unitId, settled)
    return result
  }

  const sizeOf = async (unitId: string) => (await stat(logFile(unitId)).catch(ifCode(missing, { size: 0 }))).size

  const logs = (unitId: string, from: string) => inTurn(unitId, () => readNext(unitId, from))

  const readNext = async (unitId: string, from: string): Promise<UnitLogs> => {
    const file = logFile(unitId)
    const size = await sizeOf(unitId)
    let cuts = await readCuts(cutsFile(unitId))
    let start = startIn(cuts, from)
    if (size > mostBytes || (start > keptBytes && start === size)) {
      cuts = await cut(unitId, cuts, start)
      start = 0
    }
    const placeAt = (next: number) => {
      lastRead.set(unitId, { start, next })
      return cuts === 0 ? String(next) : `${cuts}:${next}`
    }
    const found = await readLines(file, start)
    if (found.next !== start) return { lines: found.lines, next: placeAt(found.next) }
    // Only a process that has ended leaves a line without an end for good; the next start begins on a new line.
    if (found.hasMore && (await status(unitId)).state !== "running") {
      await appendFile(file, "\n")
      const { lines, next } = await readLines(file, start)
      return { lines, next: placeAt(next) }
    }
    return { lines: [], next: start === 0 && cuts === 0 ? from : placeAt(start) }
  }

  /**
   * Cuts an output whose reader is far behind, as while a statement that stores lines hangs. What is kept begins behind the lines that are on
   * their way, so none of them is read again.
   */
  const bound = async (unitId: string): Promise<void> => {
    const [size, read] = [await sizeOf(unitId), lastRead.get(unitId)]
    if (read && size > mostBytes && size - read.next > mostKeptBytes)
      await cut(unitId, await readCuts(cutsFile(unitId)), read.start)
  }

  const watchLogs = async (unitId: string, onOutput: () => void) => {
    let lookedAt = Number.NEGATIVE_INFINITY
    return watchFile(logFile(unitId), () => {
      onOutput()
      if (performance.now() - lookedAt < lookMs) return
      lookedAt = performance.now()
      inTurn(unitId, () => bound(unitId)).catch((err: unknown) =>
        options.log.warn({ err, unit_id: unitId }, "the output of a unit could not be cut"),
      )
    })
  }
  const address = (unitId: string): Address => unixAddress(socketPath(unitId))
  return { start, status, address, logs, watchLogs, memoryMb, usage, kill, stop, remove, list }
}

/**
 * @returns  the path of the Node that the artifact was built for, else of the nearest that this machine still has. A fetched one that is
 *           gone, as after a restored backup, is fetched again
 */
async function nodeFor(
  { artifactId, platform, deploymentNumber }: UnitSpec,
  { nodes, isolation, log }: Pick<UnitsOptions, "nodes" | "isolation" | "log">,
): Promise<string> {
  const built = platform === undefined ? undefined : nodeVersionOf(platform)
  if (built === undefined || built === nodes.own.version) return nodes.own.path
  const nearest = async () => nearestNode(built, [nodes.own, ...(await nodes.others(isolation.user(deploymentNumber)))])
  const near = await nearest()
  if (near) return near.path
  const problem = built === nodes.fetchable?.version ? await whyNotFetched(nodes.fetchable) : undefined
  const fetched = await nearest()
  if (fetched) return fetched.path
  log.warn(
    { artifact_id: artifactId, node: built, err: problem },
    "the Node that this was built for no longer exists here: it runs on ours",
  )
  return nodes.own.path
}

async function whyNotFetched({ fetch }: FetchableNode): Promise<NodeNotFetched | undefined> {
  try {
    await fetch()
    return undefined
  } catch (error) {
    if (error instanceof NodeNotFetched) return error
    throw error
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

/** Where to read on, in bytes; 0 after a cut, and from a place that another kind of machine wrote. */
function startIn(cuts: number, from: string): number {
  const [, madeAfter = "0", bytes] = /^(?:(\d{1,15}):)?(\d{1,15})$/.exec(from) ?? []
  return bytes !== undefined && Number(madeAfter) === cuts ? Number(bytes) : 0
}

/** The content of `starting`, until the process's identity is stored. */
interface Starting {
  readonly since: string
  /** Owner of the process; undefined where all run as our own user. */
  readonly uid?: number | undefined
}

/** The start of its title, by which a unit is found. */
const titleOf = (unitId: string): string => `superstep-unit-${unitId}`
