/** What the kernel knows of a process: its memory, its open files, its children. Linux only. */
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs"

export const hasProc = process.platform === "linux"

const statusOf = (pid: number, name: string): number => {
  const text = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) * 1024
}

/** Memory in use at the moment, in bytes. */
export const residentBytes = (pid: number): number => statusOf(pid, "VmRSS")

/** The most memory it had at a time since its start, or since `forgetPeak`. */
export const peakBytes = (pid: number): number => statusOf(pid, "VmHWM")

/** From now on `peakBytes` counts anew (proc(5), clear_refs). */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5")

/** What each open file is: a path, `socket:[…]`, `anon_inode:[…]`. */
export const openFiles = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch (error) {
      // It was closed while the folder was read.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return []
      throw error
    }
  })

export interface ChildProcessFact {
  readonly pid: number
  readonly command: string
}

/** All processes below one, zombies left out. */
export function descendants(pid: number): ChildProcessFact[] {
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? factsOf(Number(name)) : []))
  const below = (parent: number): ChildProcessFact[] =>
    all.filter(({ ppid }) => ppid === parent).flatMap(({ pid, command }) => [{ pid, command }, ...below(pid)])
  return below(pid)
}

function factsOf(pid: number): { pid: number; ppid: number; command: string }[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    const [state, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    if (state === "Z" || state === "X") return []
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()
    return [{ pid, ppid: Number(ppid), command }]
  } catch {
    // It ended while we looked.
    return []
  }
}
