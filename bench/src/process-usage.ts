/** Memory and processor time of processes, read from Linux's `/proc`. On other systems the figures are NaN. */
import { readdir, readFile, readlink } from "node:fs/promises"

// The unit of processor time in `/proc`, on every architecture that Node supports.
const ticksPerSecond = 100

interface Stat {
  readonly pid: number
  readonly parentPid: number
  readonly cpuMs: number
}

/** The running processes among these and their descendants. */
export async function treeOf(pids: readonly number[]): Promise<number[]> {
  const stats = await allStats()
  const tree = new Set(pids)
  // A child's pid may be smaller than its parent's, so one pass over the table is not enough.
  for (let size = 0; size !== tree.size; ) {
    size = tree.size
    for (const { pid, parentPid } of stats) if (tree.has(parentPid)) tree.add(pid)
  }
  return [...tree]
}

/** Memory in bytes: shared memory is divided among its users (Pss), so that a sum counts it once. */
export async function memoryOf(pids: readonly number[]): Promise<number> {
  const files = await Promise.all(pids.map((pid) => contentOf(`/proc/${pid}/smaps_rollup`)))
  const kilobytes = files.map((file) => Number(/^Pss: +(\d+) kB$/m.exec(file)?.[1] ?? Number.NaN))
  const known = kilobytes.filter((value) => !Number.isNaN(value))
  return known.length === 0 ? Number.NaN : known.reduce((sum, value) => sum + value, 0) * 1024
}

/** Processor time in milliseconds since the start of each process, including children that it has waited for. */
export async function cpuOf(pids: readonly number[]): Promise<number> {
  const wanted = new Set(pids)
  const known = (await allStats()).filter(({ pid }) => wanted.has(pid))
  return known.length === 0 ? Number.NaN : known.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

async function allStats(): Promise<Stat[]> {
  const stats = await Promise.all((await pids()).map(async (pid) => parseStat(await contentOf(`/proc/${pid}/stat`))))
  return stats.filter((stat) => stat !== undefined)
}

/** The program's name is in parentheses and may contain any character, so fields are counted after the last parenthesis. */
function parseStat(text: string): Stat | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  if (fields.length < 15) return undefined
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0)
  return { pid: Number.parseInt(text, 10), parentPid: Number(fields[1]), cpuMs: (ticks / ticksPerSecond) * 1000 }
}

/** Empty if the process has exited in the meantime. */
const contentOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

export interface Process {
  readonly pid: number
  readonly command: string
}

/** All running processes whose command, working folder or environment contains this folder. */
export async function processesOf(folder: string): Promise<Process[]> {
  const found = (await pids()).map(async (pid) => {
    const command = await contentOf(`/proc/${pid}/cmdline`)
    // The working folder of an exited process, or of another user's process, cannot be read.
    const about = [command, await contentOf(`/proc/${pid}/environ`), await readlink(`/proc/${pid}/cwd`).catch(() => "")]
    return pid !== process.pid && about.some((text) => text.includes(folder)) ? { pid, command } : undefined
  })
  return (await Promise.all(found)).filter((one) => one !== undefined)
}

/** The pids of all processes of the machine; none without `/proc`. */
async function pids(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => [])
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}
