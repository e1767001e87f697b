/** Measures how much disk folders use, once or until they use too much. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { pause } from "../exec/pause.js"

/**
 * Hard-linked files count once; files that vanish meanwhile may or may not count.
 * @returns  in megabytes
 * @throws   when `du` is missing or prints no sum: then the limit could not be enforced
 */
export async function usedDiskMb(folders: readonly string[]): Promise<number> {
  const { stdout, cause } = await promisify(execFile)("du", ["-skc", "--", ...folders]).then(
    ({ stdout }) => ({ stdout, cause: undefined }),
    // It exits with 1 when a file vanished or cannot be read, and still prints the sum of the others.
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? "", cause: error }),
  )
  const kilobytes = /^\d+/.exec(stdout.trimEnd().split("\n").at(-1) ?? "")?.[0]
  if (kilobytes === undefined) throw new Error("du did not report how much disk space the folders use", { cause })
  return Math.round(Number(kilobytes) / 1024)
}

const lookMs = 500
// Measuring a large tree must not cost more than what is measured: at most one tenth of the time.
const share = 10

/**
 * Measures the folders again and again.
 * @param signal  ends the watch
 * @returns       their use in megabytes once it exceeds `mostMb`; undefined when the watch was ended
 */
export async function untilDiskExceeds(
  folders: readonly string[],
  mostMb: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  let waitMs = lookMs
  while (await pause(waitMs, signal)) {
    const begun = performance.now()
    const usedMb = await usedDiskMb(folders)
    if (signal.aborted) return undefined
    if (usedMb > mostMb) return usedMb
    waitMs = Math.max(lookMs, (performance.now() - begun) * share)
  }
  return undefined
}
