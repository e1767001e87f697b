/** Checks how much memory a worker process uses, and reports once when it exceeds its limit (P14). Linux only. */
import { readFileSync } from "node:fs"

/** Resident memory in `/proc/<pid>/status`, in megabytes; undefined when the text does not contain it. Pure. */
export function residentMb(status: string): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024)
}

/** The reason for ending a worker that used too much memory. Pure. */
export const overLimit = (usedMb: number, limitMb: number): string =>
  `it used ${usedMb.toLocaleString("en-US")} MB of its ${limitMb.toLocaleString("en-US")} MB`

// Twenty idle deployments must not keep a processor awake.
const idleFactor = 5

/**
 * @param limitMb  in megabytes; 0 for no limit
 * @param isIdle   whether the worker executes nothing that could take memory, so that it is checked less often
 * @param onOver   called once, with the reason
 * @returns        a function that stops the checks
 */
export function watchMemory(options: {
  pid: number
  limitMb: number
  everyMs: number
  isIdle: () => boolean
  onOver: (reason: string) => void
}): () => void {
  const { pid, limitMb, everyMs, isIdle, onOver } = options
  if (limitMb === 0 || process.platform !== "linux") return () => undefined
  let timer: NodeJS.Timeout
  const lookAfter = (ms: number) => {
    timer = setTimeout(look, ms)
    timer.unref()
  }
  const look = () => {
    if (isIdle()) return lookAfter(everyMs * idleFactor)
    const usedMb = residentMb(readStatus(pid))
    if (usedMb === undefined || usedMb <= limitMb) return lookAfter(everyMs)
    onOver(overLimit(usedMb, limitMb))
  }
  lookAfter(everyMs)
  return () => clearTimeout(timer)
}

/**
 * Reads synchronously: the kernel makes the text without a disk, in 0.01 ms; through Node's thread pool it takes ten times that.
 * @returns an empty text when it cannot be read: the process has just ended, or this one has no file descriptor left
 */
function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8")
  } catch {
    // The next check follows soon; a failed one must not end the server.
    return ""
  }
}
