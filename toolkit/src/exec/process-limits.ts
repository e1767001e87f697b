/** Limits that `prlimit` sets (Linux). */
import { readFileSync } from "node:fs"

// A server with its workers, each with a dozen threads, needs some 200; threads count.
export const mostProcesses = 4096

/** The option for the number of processes of a user; only for a user that belongs to one deployment. */
export const processesOption = (): string => `--nproc=${atMost(mostProcesses, "Max processes")}`

/**
 * The wanted limit, or the present one if that is lower: only root may raise a limit.
 * @param name  as in `/proc/self/limits`
 */
export function atMost(wanted: number, name: string): number {
  const line = readFileSync("/proc/self/limits", "utf8")
    .split("\n")
    .find((text) => text.startsWith(name))
  // The columns are the name, the soft limit, the hard one and the unit.
  const hard = Number(line?.slice(name.length).trim().split(/\s+/)[1])
  return Number.isNaN(hard) ? wanted : Math.min(wanted, hard)
}
