/** Measures how much memory and disk a running step uses. */
import { processTree } from "@superstep/toolkit/exec/process-tree"
import { untilDiskExceeds, usedDiskMb } from "@superstep/toolkit/files/disk-use"

export interface StepRoom {
  readonly memoryMb: number
  readonly diskMb: number
  /** Where the step writes: the tree, its home, the caches. */
  readonly folders: readonly string[]
}

export type Excess = { readonly kind: "memory" | "disk"; readonly usedMb: number; readonly limitMb: number }

// A process that allocates as fast as it can gets a few hundred megabytes further between two checks.
const memoryLookMs = 250

/**
 * @param leader    the step's first process
 * @param onExcess  called once for each kind
 * @param signal    stops the watch
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
  // A failed measurement stops the watch; the one after the step fails as well, and reports it.
  watchDisk(room, onExcess, signal).catch(() => undefined)
}

async function watchDisk(
  { folders, diskMb }: StepRoom,
  onExcess: (excess: Excess) => void,
  signal: AbortSignal,
): Promise<void> {
  const usedMb = await untilDiskExceeds(folders, diskMb, signal)
  if (usedMb !== undefined) onExcess({ kind: "disk", usedMb, limitMb: diskMb })
}

/** @returns  undefined while the folders are within their limit */
export async function diskExcess({ folders, diskMb }: StepRoom): Promise<Excess | undefined> {
  const usedMb = await usedDiskMb(folders)
  return usedMb > diskMb ? { kind: "disk", usedMb, limitMb: diskMb } : undefined
}
