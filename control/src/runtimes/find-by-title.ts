/** Finds a process of ours by the title that it was started with. */

import { execFile } from "node:child_process"
import { readdir, stat } from "node:fs/promises"
import { promisify } from "node:util"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { commandLine, identify, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"

/**
 * @param title  of a process, unlike any other's; its first moments, before Node sets the title, show it as an option
 * @param uid    whose it is, since everybody may give their process any title; undefined where all run as one user
 */
export async function findByTitle(title: string, uid?: number): Promise<ProcessIdentity | undefined> {
  for (const pid of await allProcesses()) {
    if (!(await commandLine(pid))?.includes(title)) continue
    // Elsewhere the owner is not asked for.
    const isTheirs = uid === undefined || process.platform !== "linux" || (await ownerOf(pid)) === uid
    if (isTheirs) return identify(pid)
  }
  return undefined
}

const ownerOf = async (pid: number): Promise<number | undefined> =>
  (await stat(`/proc/${pid}`).catch(ifCode(missing)))?.uid

async function allProcesses(): Promise<number[]> {
  const names =
    process.platform === "linux"
      ? await readdir("/proc")
      : (await promisify(execFile)("ps", ["-axo", "pid="])).stdout.split("\n").map((line) => line.trim())
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}
