/** What this machine lets us hold a unit to, without a daemon or a cgroup of our own: `prlimit`, and a look at its memory. */
import { accessSync, constants, readFileSync } from "node:fs"
import { delimiter, join } from "node:path"

export interface UnitLimits {
  /** `watch`: its processes are looked at every two seconds, and killed when they use too much. */
  readonly memory: "watch" | "none"
  /** The kernel refuses more: by user, so only where each deployment has one of its own. */
  readonly processes: "hard" | "none"
  readonly openFiles: "hard" | "none"
  /** Needs a cgroup, which nobody gave us. */
  readonly cpu: "none"
}

// A server with its workers, each with a dozen threads, takes some 200; threads count.
const mostProcesses = 4096
const mostOpenFiles = 65_536

const isLinux = process.platform === "linux"

/**
 * @param isIsolated  each deployment has a user of its own
 * @param path        where programs are looked for
 */
export function unitLimits(isIsolated: boolean, path: string): UnitLimits {
  const limits = isLinux && findPrlimit(path) !== undefined ? "hard" : "none"
  return { memory: isLinux ? "watch" : "none", processes: isIsolated ? limits : "none", openFiles: limits, cpu: "none" }
}

/**
 * A command that runs under the limits. `prlimit` sets them for itself and then becomes the command, so the process is the
 * same one.
 */
export function withLimits(
  argv: readonly [string, ...string[]],
  { isIsolated, path }: { isIsolated: boolean; path: string },
): [string, ...string[]] {
  const program = isLinux ? findPrlimit(path) : undefined
  if (program === undefined) return [...argv]
  const processes = isIsolated ? [`--nproc=${atMost(mostProcesses, "Max processes")}`] : []
  return [program, `--nofile=${atMost(mostOpenFiles, "Max open files")}`, ...processes, "--core=0", "--", ...argv]
}

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
