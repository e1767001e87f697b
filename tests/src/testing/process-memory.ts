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

/** How many TCP connections to a port of this process are open on both sides. */
export function connectionsTo(pid: number, port: number): number {
  const own = new Set(openFiles(pid))
  const rows = readFileSync(`/proc/${pid}/net/tcp`, "latin1").trim().split("\n").slice(1)
  return rows.filter((row) => {
    // sl, local address, remote address, state (01 is established), …, inode in the tenth place (proc(5)).
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/)
    return Number.parseInt(local.split(":")[1] ?? "", 16) === port && state === "01" && own.has(`socket:[${inode}]`)
  }).length
}

export interface ChildProcessFact {
  readonly pid: number
  readonly command: string
  /** Clock ticks since boot: pids are given out again, so a lower one is not older. */
  readonly startTicks: number
}

/** All processes below one, zombies left out; each before its children, brothers by age. */
export function descendants(pid: number): ChildProcessFact[] {
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? factsOf(Number(name)) : []))
  const below = (parent: number): ChildProcessFact[] =>
    all
      .filter(({ ppid }) => ppid === parent)
      .sort((one, other) => one.startTicks - other.startTicks)
      .flatMap(({ ppid: _, ...fact }) => [fact, ...below(fact.pid)])
  return below(pid)
}

function factsOf(pid: number): (ChildProcessFact & { ppid: number })[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const [state, ppid] = fields
    if (state === "Z" || state === "X") return []
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()
    return [{ pid, ppid: Number(ppid), command, startTicks: Number(fields[19]) }]
  } catch {
    // It ended while we looked.
    return []
  }
}
