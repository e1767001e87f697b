/** The limits for units that this machine supports: its control group, `prlimit`, and a watch of its memory. */
import { findProgram } from "@superstep/toolkit/exec/limited-command"
import { atMost, processesOption } from "@superstep/toolkit/exec/process-limits"
import type { Controller } from "./cgroup.js"

export interface UnitLimits {
  /**
   * `hard`: the kernel kills a unit that exceeds it. `watch`: its memory is measured every two seconds, and it is killed when
   * it uses too much.
   */
  readonly memory: "hard" | "watch" | "none"
  /** The kernel refuses more. Without a control group the limit is per user, so only where each deployment has its own user. */
  readonly processes: "hard" | "none"
  readonly openFiles: "hard" | "none"
  readonly cpu: "hard" | "none"
}

const mostOpenFiles = 65_536

const isLinux = process.platform === "linux"

/** The properties of a unit's place that decide its limits. */
export interface LimitedPlace {
  /** Each deployment has a user of its own. */
  readonly isIsolated: boolean
  /** The controllers that the kernel enforces for its control group. */
  readonly held: ReadonlySet<Controller>
  /** The `PATH` to search for programs. */
  readonly path: string
}

export function unitLimits({ isIsolated, held, path }: LimitedPlace): UnitLimits {
  const byPrlimit = isLinux && findProgram("prlimit", path) !== undefined
  return {
    memory: held.has("memory") ? "hard" : isLinux ? "watch" : "none",
    processes: held.has("pids") || (isIsolated && byPrlimit) ? "hard" : "none",
    openFiles: byPrlimit ? "hard" : "none",
    cpu: held.has("cpu") ? "hard" : "none",
  }
}

/**
 * A command that runs under the limits of `prlimit`. `prlimit` sets them for itself and then executes the command in the
 * same process.
 */
export function withLimits(
  argv: readonly [string, ...string[]],
  { isIsolated, held, path }: LimitedPlace,
): [string, ...string[]] {
  const program = isLinux ? findProgram("prlimit", path) : undefined
  if (program === undefined) return [...argv]
  const isByUser = isIsolated && !held.has("pids")
  const processes = isByUser ? [processesOption()] : []
  return [program, `--nofile=${atMost(mostOpenFiles, "Max open files")}`, ...processes, "--core=0", "--", ...argv]
}
