/**
 * A process and all its descendants, read from `/proc`; empty on other systems. A background process has another parent by
 * now, but is still in the group; a process that left the group is still a descendant.
 */
import { readdirSync, readFileSync } from "node:fs"

export interface ProcessTree {
  readonly pids: readonly number[]
  /** Private memory of these processes, without shared programs and libraries. In megabytes. */
  readonly memoryMb: number
}

interface Entry {
  readonly pid: number
  readonly parent: number
  readonly group: number
}

/** @param leader  the first process and its group; it may have ended */
export const processTree = (leader: number): ProcessTree =>
  processTrees([leader]).get(leader) ?? { pids: [], memoryMb: 0 }

/** Several at once: the process table is read once for all of them. */
export function processTrees(leaders: readonly number[]): ReadonlyMap<number, ProcessTree> {
  if (process.platform !== "linux") return new Map()
  const processes = allProcesses()
  return new Map(leaders.map((leader) => [leader, treeOf(leader, processes)]))
}

/** @returns  the processes of a process group, ended ones that nobody has reaped included; empty on other systems */
export const groupMembers = (group: number): readonly number[] =>
  process.platform === "linux"
    ? allProcesses()
        .filter((entry) => entry.group === group)
        .map(({ pid }) => pid)
    : []

function treeOf(leader: number, processes: readonly Entry[]): ProcessTree {
  const pids = membersOf(leader, processes)
  return { pids, memoryMb: memoryOf(pids) }
}

/** @returns  the private memory of these processes, in megabytes; ended ones count as 0 */
export const memoryOf = (pids: readonly number[]): number =>
  Math.round(pids.reduce((sum, pid) => sum + memoryKb(textOf(`/proc/${pid}/status`)), 0) / 1024)

/** Pure. */
function membersOf(leader: number, processes: readonly Entry[]): number[] {
  const members = new Set(
    processes.filter(({ pid, group }) => pid === leader || group === leader).map(({ pid }) => pid),
  )
  for (let before = -1; before !== members.size; ) {
    before = members.size
    for (const { pid, parent } of processes) if (members.has(parent)) members.add(pid)
  }
  return [...members]
}

/** Pure. @param status  the text of `/proc/<pid>/status` */
function memoryKb(status: string): number {
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? Number.NaN)
  const own = field("RssAnon") + field("RssShmem")
  // Kernels before 4.5 report only the total.
  return Number.isNaN(own) ? field("VmRSS") || 0 : own
}

// Files below /proc are generated in memory when they are read, so reading them does not block on a disk.
function allProcesses(): Entry[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = textOf(`/proc/${name}/stat`)
      // The second field is the program's name in brackets and may itself contain blanks and brackets.
      const [, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
      return stat === "" ? [] : [{ pid: Number(name), parent: Number(parent), group: Number(group) }]
    })
}

/** @returns an empty text when the process has ended in the meantime */
function textOf(file: string): string {
  try {
    // Node reads this encoding in one call, which takes two thirds of the time of others: every process is read each second.
    return readFileSync(file, "utf8")
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ESRCH") return ""
    throw error
  }
}
