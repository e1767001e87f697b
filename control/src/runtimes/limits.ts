/** What this machine lets us hold a unit to: its control group, `prlimit`, and a look at its memory. */
import { accessSync, constants, readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { Controller } from "./cgroup.js"

export interface UnitLimits {
  /**
   * `hard`: the kernel ends the unit that wants more. `watch`: its processes are looked at every two seconds, and killed
   * when they use too much.
   */
  readonly memory: "hard" | "watch" | "none"
  /** The kernel refuses more. Without a control group by user, so only where each deployment has one of its own. */
  readonly processes: "hard" | "none"
  readonly openFiles: "hard" | "none"
  readonly cpu: "hard" | "none"
}

// A server with its workers, each with a dozen threads, takes some 200; threads count.
export const mostProcesses = 4096
const mostOpenFiles = 65_536

const isLinux = process.platform === "linux"

/** Where a unit runs, as far as its limits depend on it. */
export interface LimitedPlace {
  /** Each deployment has a user of its own. */
  readonly isIsolated: boolean
  /** What the kernel holds its control group to. */
  readonly held: ReadonlySet<Controller>
  /** Where programs are looked for. */
  readonly path: string
}

export function unitLimits({ isIsolated, held, path }: LimitedPlace): UnitLimits {
  const byPrlimit = isLinux && findPrlimit(path) !== undefined
  return {
    memory: held.has("memory") ? "hard" : isLinux ? "watch" : "none",
    processes: held.has("pids") || (isIsolated && byPrlimit) ? "hard" : "none",
    openFiles: byPrlimit ? "hard" : "none",
    cpu: held.has("cpu") ? "hard" : "none",
  }
}

/**
 * A command that runs under what `prlimit` can do. It sets the limits for itself and then becomes the command, so the
 * process is the same one.
 */
export function withLimits(
  argv: readonly [string, ...string[]],
  { isIsolated, held, path }: LimitedPlace,
): [string, ...string[]] {
  const program = isLinux ? findPrlimit(path) : undefined
  if (program === undefined) return [...argv]
  const isByUser = isIsolated && !held.has("pids")
  const processes = isByUser ? [processesOption()] : []
  return [program, `--nofile=${atMost(mostOpenFiles, "Max open files")}`, ...processes, "--core=0", "--", ...argv]
}

/** The option of `prlimit` by which the kernel refuses a user more processes; for a user that a deployment has for itself. */
export const processesOption = (): string => `--nproc=${atMost(mostProcesses, "Max processes")}`

/** A limit may be lowered by anybody and raised by root alone; the unit's user is not root. */
function atMost(wanted: number, name: string): number {
  const line = readFileSync("/proc/self/limits", "utf8")
    .split("\n")
    .find((text) => text.startsWith(name))
  // The columns are the name, the soft limit, the hard one and the unit.
  const hard = Number(line?.slice(name.length).trim().split(/\s+/)[1])
  return Number.isNaN(hard) ? wanted : Math.min(wanted, hard)
}

function findPrlimit(path: string): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, "prlimit"))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        // Not there, or not for us: the next folder may have it.
        return false
      }
    })
}
