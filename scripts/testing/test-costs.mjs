/**
 * The processor time of each test file, with that of the processes that it started and that ended before it. On a busy machine the time on the
 * clock says little; this says where a run's time goes.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs"

// Linux counts processor time in ticks of this many a second for programs, whatever the kernel uses itself.
const ticksPerSecond = 100
const stat = "/proc/self/stat"

/** @returns  seconds that this process has used; on Linux, with its children that have ended and were awaited */
export function processorSeconds() {
  if (!existsSync(stat)) {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  return ticks(readFileSync(stat, "utf8")) / ticksPerSecond
}

/** @param text  of `/proc/<pid>/stat`: utime, stime, cutime and cstime are the fields 14 to 17; the second may contain spaces */
const ticks = (text) =>
  text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .reduce((sum, field) => sum + Number(field), 0)

const lookEveryMs = 1000

/** A killed runner cannot end the processes of its files: each ends itself, and so what ends with it. */
function endWithParent() {
  const parent = process.ppid
  const look = () => {
    if (process.ppid !== parent) process.kill(process.pid, "SIGKILL")
  }
  setInterval(look, lookEveryMs).unref()
}

/**
 * The suites of a process run one after another. A file is charged from the start of its suite to that of the next one, since its hooks may run
 * last; the time before the first is that of loading all of them.
 * @param table    the file that gets a line for each: the path and seconds
 * @param loading  the name of the line for loading
 * @returns        a function to call when a suite starts, with the path of its file
 */
export function accountOf(table, loading) {
  let [current, since] = [loading, 0]
  const turnTo = (next) => {
    const now = processorSeconds()
    appendFileSync(table, `${current}\t${(now - since).toFixed(2)}\n`)
    current = next
    since = now
  }
  process.once("exit", () => turnTo(undefined))
  endWithParent()
  return turnTo
}

/** Ends the process, and fails it, if it goes on for so long although its tests have ended. */
export function endSoon(ms) {
  const end = () => {
    const held = [...new Set(process.getActiveResourcesInfo())].join(", ")
    process.stderr.write(`all tests of this process have ended, and it goes on: ${held}\n`)
    process.exit(1)
  }
  setTimeout(end, ms).unref()
}

/**
 * @param text  lines of a file and its seconds, several for a file
 * @returns     the files and their sums, the most expensive first
 */
export function mostExpensive(text) {
  const sums = new Map()
  for (const line of text.split("\n").filter(Boolean)) {
    const [file, seconds] = line.split("\t")
    sums.set(file, (sums.get(file) ?? 0) + Number(seconds))
  }
  return [...sums].map(([file, seconds]) => ({ file, seconds })).sort((one, other) => other.seconds - one.seconds)
}
