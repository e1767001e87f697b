/** Looks how much memory a worker process uses, and tells once when it is over its limit (P14). Linux only. */
import { readFile } from "node:fs/promises"

/** Resident memory in `/proc/<pid>/status`, in megabytes; undefined when the text does not tell. Pure. */
export function residentMb(status: string): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024)
}

/** Why a worker that used too much was ended. Pure. */
export const overLimit = (usedMb: number, limitMb: number): string =>
  `it used ${usedMb.toLocaleString("en-US")} MB of its ${limitMb.toLocaleString("en-US")} MB`

/**
 * @param limitMb  in megabytes; 0 for no limit
 * @param onOver   called once, with the reason
 * @returns        stops looking
 */
export function watchMemory(options: {
  pid: number
  limitMb: number
  everyMs: number
  onOver: (reason: string) => void
}): () => void {
  const { pid, limitMb, everyMs, onOver } = options
  if (limitMb === 0 || process.platform !== "linux") return () => undefined
  let isOver = false
  const look = async () => {
    // A process that has just ended has no file any more; its exit tells the rest.
    const usedMb = residentMb(await readFile(`/proc/${pid}/status`, "utf8").catch(() => ""))
    if (isOver || usedMb === undefined || usedMb <= limitMb) return
    isOver = true
    clearInterval(timer)
    onOver(overLimit(usedMb, limitMb))
  }
  const timer = setInterval(() => void look(), everyMs)
  timer.unref()
  return () => {
    isOver = true
    clearInterval(timer)
  }
}
