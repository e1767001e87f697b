/**
 * A lock file that names the process which holds it. The lock ends with the process, so a kill needs no cleanup.
 * L1 A free file is taken by `link`, which, unlike a rename, does not replace: of two processes, one gets an error. L2 The
 * entry of a dead process is replaced only by the holder of the right to replace this very entry, which is a lock of its own,
 * named after the entry; a process that comes late finds another entry, and starts over.
 */
import { createHash, randomUUID } from "node:crypto"
import { link, readFile, rename, rm, writeFile } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { identify, isAlive, type ProcessIdentity } from "../exec/process-identity.js"

// Replacing an entry takes a few file operations; a process that dies during them has its right replaced as well.
const pollMs = 10

/**
 * Writes this process into the file, unless it names another living process.
 * @returns  that other process, or undefined when the file is ours now
 */
export async function takeLock(file: string): Promise<ProcessIdentity | undefined> {
  const own = `${file}.${randomUUID()}`
  await writeFile(own, JSON.stringify(await identify(process.pid)), { mode: 0o600, flush: true })
  try {
    for (;;) {
      if (await linked(own, file)) return undefined
      const entry = await textOf(file)
      if (entry === undefined) continue
      const holder = JSON.parse(entry) as ProcessIdentity
      if (await isAlive(holder)) return holder
      if (await replaced(own, file, entry)) return undefined
      await sleep(pollMs)
    }
  } finally {
    await rm(own, { force: true })
  }
}

async function linked(own: string, file: string): Promise<boolean> {
  try {
    await link(own, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  }
}

/** @returns  false when another process has replaced the dead entry, or is about to */
async function replaced(own: string, file: string, entry: string): Promise<boolean> {
  const right = `${file}.after-${createHash("sha256").update(entry).digest("hex").slice(0, 12)}`
  if (await takeLock(right)) return false
  try {
    if ((await textOf(file)) !== entry) return false
    await rename(own, file)
    return true
  } finally {
    await rm(right)
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}
