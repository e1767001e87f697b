/**
 * Units as processes of this machine. A unit is its folder: `pid.json` says which process it is, `out.log` what it
 * printed. It runs in a session of its own, so neither a terminal's Ctrl-C nor our death reaches it.
 */
import { appendFile, chown, type FileHandle, mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { writeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { processTree, processTrees } from "@superstep/toolkit/exec/process-tree"
import { spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess, untilGone } from "@superstep/toolkit/exec/stop-process"
import { bindUnixSocket } from "@superstep/toolkit/http/bound-socket"
import { fileMark, forgetFile, watchFile } from "../files/growing-file.js"
import { readJson, writeJson } from "../files/json-file.js"
import { readLines } from "../files/read-lines.js"
import { removeTree } from "../files/remove-tree.js"
import { enteringArgv } from "./cgroup.js"
import type { Cgroups } from "./cgroups.js"
import { findByTitle } from "./find-by-title.js"
import { edgeUserOf, type Isolation } from "./isolation.js"
import { withLimits } from "./limits.js"
import type { Runtime, UnitLogs, UnitSpec, UnitStatus } from "./port.js"
import { unitEnvironment, unitSecrets, unitSocketDescriptor } from "./unit-environment.js"
import { unitGroups } from "./unit-groups.js"
import { noteProgram } from "./unit-program.js"

export interface ProcessRuntimeOptions {
  /** Holds a folder for each unit. */
  readonly unitsFolder: string
  /** Holds the units' sockets. Only we may write to it: whoever connects there is sure to reach the unit. */
  readonly socketsFolder: string
  /** The agent server's `main.js`. */
  readonly serverEntry: string
  readonly isolation: Isolation
  /** Undefined where the machine has none for us. */
  readonly cgroups: Cgroups | undefined
  readonly environment: NodeJS.ProcessEnv
  /** Where a test ends this process. */
  readonly crashPoint?: (name: string) => void
}

export function processRuntime(options: ProcessRuntimeOptions): Runtime {
  const folderOf = (unitId: string) => join(options.unitsFolder, unitId)
  // Short, since a socket's path must stay below 100 bytes.
  const socketPath = (unitId: string) => join(options.socketsFolder, `${unitId.replaceAll("-", "").slice(-16)}.sock`)
  const identityFile = (unitId: string) => join(folderOf(unitId), "pid.json")
  const logFile = (unitId: string) => join(folderOf(unitId), "out.log")
  const startingFile = (unitId: string) => join(folderOf(unitId), "starting")
  const groups = options.cgroups && unitGroups(options.cgroups)

  /** A control plane that is killed right after it started a process has not written down which: it has our title. */
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
    if (await isAlive(identity)) return { state: "running", pid: identity.pid }
    const ranOutOfMb = await groups?.ranOutOfMb(unitId)
    return { state: "exited", ...(ranOutOfMb !== undefined && { ranOutOfMb }) }
  }

  /** Somebody may have taken away what was ours when we started: then a unit without limits is better than none. */
  const doorFor = async ({ unitId, limits }: UnitSpec): Promise<FileHandle | undefined> => {
    try {
      return await groups?.prepare(unitId, limits)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const words = `this unit runs without its limits: its control group cannot be made (${reason}); restart the control plane`
      await appendFile(logFile(unitId), `${words}\n`)
      return undefined
    }
  }

  const start = async (spec: UnitSpec): Promise<void> => {
    const { unitId } = spec
    if ((await status(unitId)).state === "running") return
    const folder = folderOf(unitId)
    const user = options.isolation.user(spec.uidOffset)
    await mkdir(folder, { recursive: true, mode: 0o755 })
    for (const path of [join(folder, "tmp"), join(folder, "data")]) {
      await mkdir(path, { recursive: true, mode: 0o700 })
      if (user) await chown(path, user.uid, user.gid)
    }
    await noteProgram(folder, { deploymentId: spec.deploymentId, entry: options.serverEntry })
    const place = { folder, settingsFile: join(folder, "tmp", "settings.json") }
    await writeSettingsFile(place.settingsFile, unitSecrets(spec, options.environment), user)
    await writeJson(startingFile(unitId), { since: new Date().toISOString(), uid: user?.uid } satisfies Starting)
    await using door = await doorFor(spec)
    await mkdir(options.socketsFolder, { recursive: true, mode: 0o700 })
    using socket = await bindUnixSocket(socketPath(unitId), edgeUserOf(options.isolation)?.gid)
    const argv = withLimits(
      [spec.nodePath, "--enable-source-maps", `--title=${titleOf(unitId)}`, options.serverEntry],
      {
        isIsolated: user !== undefined,
        held: (door && options.cgroups?.held) ?? new Set(),
        path: options.environment.PATH ?? "",
      },
    )
    const identity = await spawnDetached({
      argv: door ? enteringArgv(argv, unitSocketDescriptor + 1) : argv,
      extraDescriptors: [socket.descriptor, ...(door ? [door.fd] : [])],
      cwd: spec.artifactFolder,
      env: unitEnvironment(spec, place, options.environment),
      user,
      outputFile: join(folder, "out.log"),
    })
    options.crashPoint?.("unit:after-spawn")
    await writeJson(identityFile(unitId), identity)
    await rm(startingFile(unitId), { force: true })
  }

  const memoryMb = async (unitIds: readonly string[]): Promise<ReadonlyMap<string, number>> => {
    const looked = await Promise.all(unitIds.map(async (unitId) => ({ unitId, at: await status(unitId) })))
    const running = looked.flatMap(({ unitId, at }) => (at.state === "running" ? [{ unitId, pid: at.pid }] : []))
    // By group where it has one; else, as of a unit that an older release started, by what can be seen to come of it.
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
    // The server first: it would begin to replace its workers.
    for (const pid of [identity.pid, ...processTree(identity.pid).pids]) killNow(pid)
    await untilGone(identity, Number.POSITIVE_INFINITY)
  }

  const stop = async (unitId: string, { graceMs }: { graceMs: number }): Promise<void> => {
    const identity = await identityOf(unitId)
    // The process group is the server's own. Workers have some of theirs and end with their server; what a graph started
    // ends with the control group (README, "What a stop leaves").
    if (identity) await stopProcess(identity, { graceMs, group: true })
    await groups?.remove(unitId)
    // An end that was asked for is no crash.
    await rm(identityFile(unitId), { force: true })
  }

  const remove = async (unitId: string): Promise<void> => {
    await rm(socketPath(unitId), { force: true })
    await removeTree(folderOf(unitId))
  }

  const list = async (): Promise<string[]> => {
    await mkdir(options.unitsFolder, { recursive: true })
    return [...new Set([...(await readdir(options.unitsFolder)), ...((await groups?.list()) ?? [])])]
  }
  const logs = async (unitId: string, from: number): Promise<UnitLogs> => {
    const { hasMore, ...found } = await readLines(logFile(unitId), from)
    // Only a process that has ended leaves a line without an end for good; the next life begins on a line of its own.
    const isLast = found.lines.length === 0 && hasMore && (await status(unitId)).state !== "running"
    if (!isLast) return found
    await appendFile(logFile(unitId), "\n")
    const { lines, next } = await readLines(logFile(unitId), from)
    return { lines, next }
  }
  const forgetLogs = async (unitId: string, read: number): Promise<boolean> => forgetFile(logFile(unitId), read)
  const logMark = (unitId: string): Promise<string> => fileMark(logFile(unitId))
  const watchLogs = (unitId: string, onOutput: () => void) => watchFile(logFile(unitId), onOutput)
  return { start, status, socketPath, logs, logMark, watchLogs, forgetLogs, memoryMb, kill, stop, remove, list }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

/** What `starting` holds, until the process is noted. */
interface Starting {
  readonly since: string
  /** Whose the process is; undefined where all run as we do. */
  readonly uid?: number | undefined
}

const titleOf = (unitId: string): string => `superstep-unit-${unitId}`
