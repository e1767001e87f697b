/** Finds a process of ours by the title that it was started with. */

import { execFile } from "node:child_process"
import { readdir } from "node:fs/promises"
import { promisify } from "node:util"
import { commandLine, identify, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"

/** @param title  of a process, unlike any other's; its first moments, before Node sets the title, show it as an option */
export async function findByTitle(title: string): Promise<ProcessIdentity | undefined> {
  for (const pid of await allProcesses()) {
    if ((await commandLine(pid))?.includes(title)) return identify(pid)
  }
  return undefined
}

async function allProcesses(): Promise<number[]> {
  const names =
    process.platform === "linux"
      ? await readdir("/proc")
      : (await promisify(execFile)("ps", ["-axo", "pid="])).stdout.split("\n").map((line) => line.trim())
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}
