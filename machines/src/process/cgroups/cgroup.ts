/**
 * One control group (cgroup v2): a folder with the kernel's files. All its processes, and all that they start, share its
 * limits and can be killed together, whatever sessions they created.
 * @see https://docs.kernel.org/admin-guide/cgroup-v2.html
 */
import { constants } from "node:fs"
import { type FileHandle, mkdir, open, readdir, readFile, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

export const controllers = ["cpu", "memory", "pids"] as const
export type Controller = (typeof controllers)[number]

/** An undefined value means no limit. */
export interface GroupLimits {
  readonly memoryMb: number | undefined
  /** Number of processors, such as 0.5. */
  readonly cpu: number | undefined
  /** Threads count as processes. */
  readonly processes: number | undefined
}

/**
 * Creates the group, empty and with these limits; first kills what was left in a group of this name.
 * @param held  the controllers that its parent enables; limits of other controllers are left out
 */
export async function makeGroup(path: string, limits: GroupLimits, held: ReadonlySet<Controller>): Promise<void> {
  await removeGroup(path)
  await mkdir(path)
  for (const [file, value] of limitFiles(limits, held)) {
    await put(path, file, value).catch((error: NodeJS.ErrnoException) => {
      // A kernel without swap support has no such file.
      if (error.code !== "ENOENT" || file !== "memory.swap.max") throw error
    })
  }
}

// In microseconds: the kernel's own default, and long enough for a request to be answered at full speed.
const cpuPeriod = 100_000
// The kernel's minimum, and the largest number that it can represent.
const leastCpuQuota = 1000
const mostBytes = Number.MAX_SAFE_INTEGER

/** Pure. Swap must not bypass the limit; and when one process of a unit is killed for memory, all of them are. */
export function limitFiles(limits: GroupLimits, held: ReadonlySet<Controller>): [file: string, value: string][] {
  const { memoryMb, cpu, processes } = limits
  const files: [string, string][] = []
  if (memoryMb !== undefined && held.has("memory")) {
    files.push(["memory.max", String(Math.min(mostBytes, Math.round(memoryMb * 1024 * 1024)))])
    files.push(["memory.swap.max", "0"], ["memory.oom.group", "1"])
  }
  if (cpu !== undefined && held.has("cpu")) {
    files.push(["cpu.max", `${Math.max(leastCpuQuota, Math.round(cpu * cpuPeriod))} ${cpuPeriod}`])
  }
  if (processes !== undefined && held.has("pids")) files.push(["pids.max", String(processes)])
  return files
}

/**
 * A command that joins the group before anything else, so that none of its program's code runs outside. The starter opens
 * the group as a descriptor, since the unit's user may not write to it.
 */
export const enteringArgv = (argv: readonly [string, ...string[]], descriptor = 3): [string, ...string[]] => [
  "/bin/sh",
  ...["-c", `echo 0 >&${descriptor} && exec ${descriptor}>&- && exec "$@"`, "enter", ...argv],
]

/** Opens the descriptor by which a process enters the group. */
export const openProcsHandle = (path: string): Promise<FileHandle> =>
  open(join(path, "cgroup.procs"), constants.O_WRONLY)

/** Kills every process in it and below. Does nothing when there is no such group. @returns  when they are gone */
export async function killGroup(path: string): Promise<void> {
  if (!(await isPopulated(path))) return
  await put(path, "cgroup.kill", "1").catch(unlessGone)
  while (await isPopulated(path)) await sleep(pollMs)
}

// A killed process needs about a millisecond to end, longer when it has much memory to free.
const pollMs = 5

/** Kills what is in the group and deletes it. Does nothing when there is no such group. */
export async function removeGroup(path: string): Promise<void> {
  await killGroup(path)
  for (const name of await groupsIn(path)) await removeGroup(join(path, name))
  await rmdir(path).catch(unlessGone)
}

/** Names of the groups directly below. */
export async function groupsIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(unlessGone)
  return (entries ?? []).filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

/** The processes in the group, without those of groups below it, which only its own processes could have created. */
export const membersOf = async (path: string): Promise<number[]> =>
  (await textOf(path, "cgroup.procs")).split("\n").filter(Boolean).map(Number)

/** @returns  whether the kernel has killed one of its processes for exceeding the group's memory limit, since its creation */
export const ranOutOfMemory = async (path: string): Promise<boolean> =>
  wantedMoreThanLimit(await textOf(path, "memory.events"))

/** Pure. A machine that runs out of memory kills processes too (`oom_kill`), whatever the limit of their group (`oom`). */
export const wantedMoreThanLimit = (memoryEvents: string): boolean =>
  fieldOf(memoryEvents, "oom") > 0 && fieldOf(memoryEvents, "oom_kill") > 0

/** @returns  undefined when the kernel enforces none */
export async function memoryLimitMb(path: string): Promise<number | undefined> {
  const bytes = Number.parseInt(await textOf(path, "memory.max"), 10)
  return Number.isNaN(bytes) ? undefined : Math.round(bytes / 1024 / 1024)
}

/** Never creates a file, so that a missing one gives an error that says so. */
export const put = (path: string, file: string, value: string): Promise<void> =>
  writeFile(join(path, file), value, { flag: constants.O_WRONLY })

const isPopulated = async (path: string): Promise<boolean> =>
  fieldOf(await textOf(path, "cgroup.events"), "populated") === 1

/** Parses lines such as `populated 0`; 0 when there is no such line. Pure. */
const fieldOf = (text: string, name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0)

/** @returns  an empty text when there is no such group, or no such controller for it */
const textOf = async (path: string, file: string): Promise<string> =>
  (await readFile(join(path, file), "utf8").catch(unlessGone)) ?? ""

function unlessGone(error: NodeJS.ErrnoException): undefined {
  // ENODEV: the group was deleted while its file was open.
  if (error.code === "ENOENT" || error.code === "ENODEV") return undefined
  throw error
}
