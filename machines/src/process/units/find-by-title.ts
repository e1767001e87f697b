/** Finds one of our processes by its title. */

import { execFile } from "node:child_process"
import { readdir, stat } from "node:fs/promises"
import { promisify } from "node:util"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { commandLine, identify, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"

/**
 * @param title  a unique process title; until Node has set it, it appears among the process's options
 * @param uid    owner of the process, since anybody may set any title; undefined where all run as one user
 */
export async function findByTitle(title: string, uid?: number): Promise<ProcessIdentity | undefined> {
  for (const pid of await allProcesses()) {
    if (!(await commandLine(pid))?.includes(title)) continue
    // Other systems are not asked for the owner.
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
