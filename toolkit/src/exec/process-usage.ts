/** Resource use of processes, each with all its descendants. */
import { execFile } from "node:child_process"
import { readdir, readFile } from "node:fs/promises"
import { promisify } from "node:util"

export interface ProcessUsage {
  readonly pid: number
  /** Processor time since it started, in seconds. */
  readonly cpuSeconds: number
  readonly rssBytes: number
}

interface Listed extends ProcessUsage {
  readonly parent: number
}

/**
 * @param pids  of running processes; one that has ended meanwhile has no entry
 * @returns     by pid: the process itself and its descendants that run at this moment
 */
export async function usageOfTrees(pids: readonly number[]): Promise<ReadonlyMap<number, readonly ProcessUsage[]>> {
  if (pids.length === 0) return new Map()
  return treesOf(process.platform === "linux" ? await listByProc() : await listByPs(), pids)
}

/**
 * Any user starts processes that start processes: neither their depth nor their number may end the measuring of others. A list that
 * was read while processes ended may even hold a circle. Pure.
 */
export function treesOf(all: readonly Listed[], pids: readonly number[]): ReadonlyMap<number, readonly Listed[]> {
  const children = new Map<number, Listed[]>()
  for (const it of all) {
    const siblings = children.get(it.parent)
    if (siblings) siblings.push(it)
    else children.set(it.parent, [it])
  }
  const own = new Map(all.map((it) => [it.pid, it]))
  return new Map(
    pids.flatMap((pid) => {
      const root = own.get(pid)
      if (!root) return []
      const tree = new Set([root])
      // A set is iterated to its end, also over what was added meanwhile.
      for (const { pid: parent } of tree) for (const child of children.get(parent) ?? []) tree.add(child)
      return [[pid, [...tree]] as const]
    }),
  )
}

// Linux reports times to programs in hundredths of a second, whatever the kernel counts in (USER_HZ).
const ticksPerSecond = 100

async function listByProc(): Promise<Listed[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const read = await Promise.all(pids.map(readProcess))
  return read.filter((it) => it !== undefined)
}

async function readProcess(pid: string): Promise<Listed | undefined> {
  try {
    const [stat, status] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "latin1"),
      readFile(`/proc/${pid}/status`, "latin1"),
    ])
    // The second field is the program's name in brackets and may itself contain blanks and brackets: count from the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0)
    return {
      pid: Number(pid),
      parent: Number(fields[1]),
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
      rssBytes: kilobytes * 1024,
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // It has ended.
    if (code === "ENOENT" || code === "ESRCH") return undefined
    throw error
  }
}

async function listByPs(): Promise<Listed[]> {
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C" }
  const { stdout } = await promisify(execFile)("ps", ["-axo", "pid=,ppid=,rss=,time="], { env })
  return stdout
    .trim()
    .split("\n")
    .map((line) => {
      const [pid, parent, kilobytes, time = "0"] = line.trim().split(/\s+/)
      const cpuSeconds = time.split(/[:-]/).reduce((sum, part) => sum * 60 + Number(part), 0)
      return { pid: Number(pid), parent: Number(parent), cpuSeconds, rssBytes: Number(kilobytes) * 1024 }
    })
}
