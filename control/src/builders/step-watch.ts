/** Looks how much memory and disk a running step uses. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { pause } from "@superstep/toolkit/exec/pause"
import { processTree } from "@superstep/toolkit/exec/process-tree"

export interface StepRoom {
  readonly memoryMb: number
  readonly diskMb: number
  /** Where the step writes: the tree, its home, the caches. */
  readonly folders: readonly string[]
}

export type Excess = { readonly kind: "memory" | "disk"; readonly usedMb: number; readonly limitMb: number }

// A process that allocates as fast as it can gets a few hundred megabytes further between two looks.
const memoryLookMs = 250
const diskLookMs = 500
// Of a large tree the looks must not cost more than the step itself.
const diskShare = 10

/**
 * @param leader    the step's first process
 * @param onExcess  called once for each kind
 * @param signal    ends the watch
 */
export function watchStep(
  leader: number,
  room: StepRoom,
  onExcess: (excess: Excess) => void,
  signal: AbortSignal,
): void {
  const timer = setInterval(() => {
    const { memoryMb } = processTree(leader)
    if (memoryMb <= room.memoryMb) return
    clearInterval(timer)
    onExcess({ kind: "memory", usedMb: memoryMb, limitMb: room.memoryMb })
  }, memoryLookMs)
  signal.addEventListener("abort", () => clearInterval(timer), { once: true })
  // A look that fails ends the watch; the one after the step fails as well, and says so.
  watchDisk(room, onExcess, signal).catch(() => undefined)
}

async function watchDisk(room: StepRoom, onExcess: (excess: Excess) => void, signal: AbortSignal): Promise<void> {
  let waitMs = diskLookMs
  while (await pause(waitMs, signal)) {
    const begun = performance.now()
    const excess = await diskExcess(room)
    if (signal.aborted) return
    if (excess) return onExcess(excess)
    waitMs = Math.max(diskLookMs, (performance.now() - begun) * diskShare)
  }
}

/** @returns undefined while the folders hold no more than they may */
export async function diskExcess({ folders, diskMb }: StepRoom): Promise<Excess | undefined> {
  const usedMb = await usedDiskMb(folders)
  return usedMb > diskMb ? { kind: "disk", usedMb, limitMb: diskMb } : undefined
}

/**
 * Files with several names count once; what vanishes meanwhile counts or not.
 * @throws  `du` is not there or tells no sum: then nobody would hold the limit
 */
export async function usedDiskMb(folders: readonly string[]): Promise<number> {
  const { stdout, cause } = await promisify(execFile)("du", ["-skc", "--", ...folders]).then(
    ({ stdout }) => ({ stdout, cause: undefined }),
    // It ends with 1 when a file went away or cannot be read, and tells the sum of the others.
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? "", cause: error }),
  )
  const kilobytes = /^\d+/.exec(stdout.trimEnd().split("\n").at(-1) ?? "")?.[0]
  if (kilobytes === undefined) throw new Error("du does not tell how much disk the build uses", { cause })
  return Math.round(Number(kilobytes) / 1024)
}
