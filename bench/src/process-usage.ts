/** What processes use, read from `/proc` as Linux has it; on other systems there is none, and the figures are NaN. */
import { readdir, readFile, readlink } from "node:fs/promises"

// Linux counts processor time in these, on every architecture that Node runs on.
const ticksPerSecond = 100

interface Stat {
  readonly pid: number
  readonly parentPid: number
  readonly cpuMs: number
}

/** These processes and all they started, directly or not, which live at the moment. */
export async function treeOf(pids: readonly number[]): Promise<number[]> {
  const stats = await allStats()
  const tree = new Set(pids)
  // A child's pid may be below its parent's, so one pass over the table is not enough.
  for (let size = 0; size !== tree.size; ) {
    size = tree.size
    for (const { pid, parentPid } of stats) if (tree.has(parentPid)) tree.add(pid)
  }
  return [...tree]
}

/** Memory in bytes: what is shared is divided among those who share it (Pss), so that a sum counts it once. */
export async function memoryOf(pids: readonly number[]): Promise<number> {
  const files = await Promise.all(pids.map((pid) => contentOf(`/proc/${pid}/smaps_rollup`)))
  const kilobytes = files.map((file) => Number(/^Pss: +(\d+) kB$/m.exec(file)?.[1] ?? Number.NaN))
  const known = kilobytes.filter((value) => !Number.isNaN(value))
  return known.length === 0 ? Number.NaN : known.reduce((sum, value) => sum + value, 0) * 1024
}

/** Processor time in milliseconds since each began, with that of the children it has waited for. */
export async function cpuOf(pids: readonly number[]): Promise<number> {
  const wanted = new Set(pids)
  const known = (await allStats()).filter(({ pid }) => wanted.has(pid))
  return known.length === 0 ? Number.NaN : known.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

async function allStats(): Promise<Stat[]> {
  const stats = await Promise.all((await pids()).map(async (pid) => parseStat(await contentOf(`/proc/${pid}/stat`))))
  return stats.filter((stat) => stat !== undefined)
}

/** The program's name stands in parentheses and may hold anything, so the fields are counted from its end. */
function parseStat(text: string): Stat | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  if (fields.length < 15) return undefined
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0)
  return { pid: Number.parseInt(text, 10), parentPid: Number(fields[1]), cpuMs: (ticks / ticksPerSecond) * 1000 }
}

/** Empty for a process that has ended meanwhile. */
const contentOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

export interface Process {
  readonly pid: number
  readonly command: string
}

/** The living processes whose command, folder or environment names this folder; whoever started them. */
export async function processesOf(folder: string): Promise<Process[]> {
  const found = (await pids()).map(async (pid) => {
    const command = await contentOf(`/proc/${pid}/cmdline`)
    // One that has ended meanwhile, or is another user's, has no folder.
    const about = [command, await contentOf(`/proc/${pid}/environ`), await readlink(`/proc/${pid}/cwd`).catch(() => "")]
    return pid !== process.pid && about.some((text) => text.includes(folder)) ? { pid, command } : undefined
  })
  return (await Promise.all(found)).filter((one) => one !== undefined)
}

/** Of the whole machine; none where there is no `/proc`. */
async function pids(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => [])
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}
