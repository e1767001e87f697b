/** Detects a full disk: from an error message, and by its free space. */
import { statfs } from "node:fs/promises"

/** @param words  the message of an error, or the output of a program that has failed */
export const saysDiskIsFull = (words: string): boolean =>
  /ENOSPC|EDQUOT|no space left on device|disk quota exceeded/i.test(words)

export const diskIsFull = "the platform's disk is full"

// A full disk may still have a little free space: less than any step of a build writes.
const leastBytes = 1_000_000

/** @param folder  an existing folder on that disk */
export async function hasRoom(folder: string): Promise<boolean> {
  const { bavail, bsize, files, ffree } = await statfs(folder)
  // Some file systems do not count files.
  return bavail * bsize >= leastBytes && (files === 0 || ffree > 0)
}
