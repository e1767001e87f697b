/**
 * Identifies a process. A pid alone is not enough: it is reused, after a reboot even by a process that started at the same
 * time after the boot. An identity may be stored for any time, and read after any restart.
 */
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"

export interface ProcessIdentity {
  readonly pid: number
  /** When it started: clock ticks since boot on Linux, milliseconds since 1970 where `ps` is used. */
  readonly startTicks: number
  /** Identifies the boot of the machine; empty where start times are absolute. */
  readonly bootId: string
}

const isLinux = process.platform === "linux"

/** @returns  the identity of the process that has this pid now, or undefined when it has ended (a zombie has ended) */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  return isLinux ? identifyByProc(pid) : identifyByPs(pid)
}

/** Returns whether this very process still runs; another process with its pid does not count, nor does a zombie. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const current = await identify(identity.pid)
  return current !== undefined && current.startTicks === identity.startTicks && current.bootId === identity.bootId
}

/** @returns  the command line of a process as it was started, words joined by blanks; undefined when it has ended */
export async function commandLine(pid: number): Promise<string | undefined> {
  if (!isLinux) return askPs(pid, "command=")
  const words = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(undefinedIfEnded)
  return words?.split("\0").join(" ").trim()
}

/**
 * The identity of a child that was started in this very tick, even if it has ended at once: on Linux it is read
 * before this function first waits, and until then the child has not been reaped.
 */
export async function identifyNewChild(pid: number): Promise<ProcessIdentity> {
  if (!isLinux) return (await identifyByPs(pid)) ?? { pid, startTicks: 0, bootId: "" }
  return { pid, startTicks: readStat(pid)?.startTicks ?? 0, bootId: bootId() }
}

// Files below /proc are generated in memory when they are read, so reading them does not block on a disk.
function identifyByProc(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  if (!stat || hasEnded(pid, stat.state)) return undefined
  return { pid, startTicks: stat.startTicks, bootId: bootId() }
}

/**
 * A killed process is a zombie as soon as its first thread has ended. Until the last one has, its sockets are open: a caller
 * that considered it gone would find its port in use.
 */
function hasEnded(pid: number, state: string): boolean {
  if (state !== "Z" && state !== "X") return false
  try {
    return readdirSync(`/proc/${pid}/task`).length <= 1
  } catch (error) {
    undefinedIfEnded(error)
    return true
  }
}

function readStat(pid: number): { state: string; startTicks: number } | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1")
  } catch (error) {
    return undefinedIfEnded(error)
  }
  // The second field is the program's name in brackets and may itself contain blanks and brackets: count from the last one.
  const [state = "", ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return { state, startTicks: Number(fields[18]) }
}

const bootId = (): string => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()

function undefinedIfEnded(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException
  // ESRCH: the process ended between opening the file and reading it.
  if (code === "ENOENT" || code === "ESRCH") return undefined
  throw error
}

async function identifyByPs(pid: number): Promise<ProcessIdentity | undefined> {
  const line = await askPs(pid, "stat=,lstart=")
  const [, state, started] = line?.match(/^(\S+)\s+(.+)$/) ?? []
  if (!started || state?.startsWith("Z")) return undefined
  return { pid, startTicks: Date.parse(`${started} UTC`), bootId: "" }
}

async function askPs(pid: number, columns: string): Promise<string | undefined> {
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", columns, "-p", String(pid)], { env })
    return stdout.trim() || undefined
  } catch (error) {
    // ps exits with 1 when there is no such process.
    if ((error as { code?: unknown }).code === 1) return undefined
    throw error
  }
}
