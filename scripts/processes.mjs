/**
 * Finds the processes that a test run left behind. Every process of the run has the run's own temporary folder in its environment: as TMPDIR,
 * also workers, whose environment is otherwise nearly empty, or as part of another path, as edges, which have no TMPDIR.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/**
 * @param tmpdir  the folder that only this run uses
 * @returns       pid and command line of each process that has the folder in its environment or arguments; none without /proc
 */
export function processesOf(tmpdir) {
  if (!existsSync("/proc/self/environ")) return []
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => names(read(pid, "environ"), tmpdir) || read(pid, "cmdline").includes(tmpdir))
    .map((pid) => ({ pid: Number(pid), command: read(pid, "cmdline").replaceAll("\0", " ").trim() }))
    .filter(({ command }) => command !== "")
}

/** The folder itself, or one below it. */
const names = (environ, tmpdir) => environ.includes(`${tmpdir}\0`) || environ.includes(`${tmpdir}/`)

/** Waits a moment for processes that were asked to stop. */
export async function processesLeftBehind(tmpdir, patienceMs) {
  const deadline = Date.now() + patienceMs
  for (;;) {
    const left = processesOf(tmpdir)
    if (left.length === 0 || Date.now() > deadline) return left
    await sleep(100)
  }
}

// A process that has exited meanwhile, or that belongs to another user, cannot be read.
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8")
  } catch {
    return ""
  }
}
