/** Finds the processes of this machine that belong to a folder, and their listening sockets. Reads /proc, so Linux only. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"

export interface FoundProcess {
  readonly pid: number
  readonly command: string
  /** Sorted; such as `tcp 8900` or the path of a Unix socket. */
  readonly listens: readonly string[]
}

export const canFindProcesses = existsSync("/proc/self/environ")

/** @returns  processes with the folder's path in their environment, arguments or working folder, except this one */
export function processesOf(folder: string): FoundProcess[] {
  const sockets = listeningSockets()
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => [text(pid, "environ"), text(pid, "cmdline"), link(pid, "cwd")].some((it) => it.includes(folder)))
    .map((pid) => ({
      pid: Number(pid),
      command: text(pid, "cmdline").replaceAll("\0", " ").trim(),
      listens: socketsOf(pid).flatMap((inode) => sockets.get(inode) ?? []),
    }))
    .filter(({ command }) => command !== "")
    .map((it) => ({ ...it, listens: [...new Set(it.listens)].sort() }))
}

const socketsOf = (pid: string): string[] =>
  openFiles(pid).flatMap((fd) => /^socket:\[(\d+)\]$/.exec(link(pid, `fd/${fd}`))?.[1] ?? [])

/** By inode. */
function listeningSockets(): ReadonlyMap<string, string> {
  const tcp = ["tcp", "tcp6"].flatMap((file) => rowsOf(file).map((row) => ({ row, isListening: row[3] === "0A" })))
  const unix = rowsOf("unix").map((row) => ({ row, isListening: row[3] === "00010000" }))
  return new Map([
    ...tcp.filter((it) => it.isListening).map(({ row }) => [row[9] ?? "", `tcp ${portOf(row[1])}`] as const),
    ...unix.filter((it) => it.isListening).map(({ row }) => [row[6] ?? "", row[7] ?? ""] as const),
  ])
}

const rowsOf = (file: string): string[][] =>
  text("net", file)
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))

const portOf = (address = ""): number => Number.parseInt(address.split(":").at(-1) ?? "", 16)

// A process that ends meanwhile, or that belongs to another user, has nothing to read.
const text = (pid: string, file: string): string => orNothing(() => readFileSync(`/proc/${pid}/${file}`, "utf8"))
const link = (pid: string, file: string): string => orNothing(() => readlinkSync(`/proc/${pid}/${file}`))
const openFiles = (pid: string): readonly string[] =>
  orNothing(() => readdirSync(`/proc/${pid}/fd`).join(" ")).split(" ")

function orNothing(read: () => string): string {
  try {
    return read()
  } catch {
    return ""
  }
}
