/** A file that says which process has something. It is given up by dying, so nobody has to tidy up after a kill. */
import { link, rename, rm, writeFile } from "node:fs/promises"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { readJson } from "./json-file.js"

/**
 * Writes this process into the file, unless a process that lives is there.
 * @returns that other process, or undefined when the file is ours now
 */
export async function takeLock(file: string): Promise<ProcessIdentity | undefined> {
  const own = `${file}.${process.pid}`
  await writeFile(own, JSON.stringify(await identify(process.pid)), { mode: 0o600 })
  try {
    // Unlike a rename, a link does not replace: of two who try, one is told.
    await link(own, file)
    await rm(own)
    return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
  const former = await readJson<ProcessIdentity>(file)
  if (former && (await isAlive(former))) {
    await rm(own)
    return former
  }
  await rename(own, file)
  return undefined
}
