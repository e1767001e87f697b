/** Whether the disk is full: as somebody said, and as it is. */
import { statfs } from "node:fs/promises"

/** @param words  of an error, or of a program that has failed */
export const saysDiskIsFull = (words: string): boolean =>
  /ENOSPC|EDQUOT|no space left on device|disk quota exceeded/i.test(words)

export const diskIsFull = "the platform's disk is full"

// What is left on a disk that somebody has just filled: less than any step of a build writes.
const leastBytes = 1_000_000

/** @param folder  on the disk in question; it exists */
export async function hasRoom(folder: string): Promise<boolean> {
  const { bavail, bsize, files, ffree } = await statfs(folder)
  // Some file systems count no files.
  return bavail * bsize >= leastBytes && (files === 0 || ffree > 0)
}
