/** Reads `postmaster.pid`, by which a running Postgres identifies itself, and checks that its process still runs. */
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { commandLine, identify, isAlive, type ProcessIdentity } from "../exec/process-identity.js"

export interface Postmaster {
  readonly identity: ProcessIdentity
  readonly socketFolder: string
}

interface PidFile {
  readonly pid: number
  readonly socketFolder: string
  readonly isReady: boolean
}

// pg_ctl polls every 100 ms; a start takes about that long, so we poll more often.
const pollMs = 10

/**
 * The lines of the file, as `src/include/utils/pidfile.h` of Postgres defines them: pid, data folder, start time, port,
 * socket folder, listen address, shared memory key, status. The later ones appear while Postgres starts.
 */
function parsePidFile(text: string): PidFile | undefined {
  const [pid = "", , , , socketFolder = "", , , status = ""] = text.split("\n")
  if (!/^\d+$/.test(pid)) return undefined
  return { pid: Number(pid), socketFolder, isReady: status.trim() === "ready" }
}

/**
 * @param data  the cluster's data folder
 * @returns     the Postgres that runs on it, also while it starts or stops; undefined for the file of a killed one, even if
 *              another program has its pid now
 */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const file = await readPidFile(data)
  const identity = file && (await identify(file.pid))
  if (!identity) return undefined
  const command = await commandLine(file.pid)
  if (!command) return undefined
  if (`${command} `.includes(` ${data} `)) return { identity, socketFolder: file.socketFolder }
  // Another program has the pid. Postgres itself would assume that it is a Postgres, and refuse to start.
  await rm(join(data, "postmaster.pid"), { force: true })
  return undefined
}

/** Waits until this Postgres accepts connections. @returns  undefined when it exited before */
export async function untilReady(data: string, identity: ProcessIdentity): Promise<Postmaster | undefined> {
  while (await isAlive(identity)) {
    const file = await readPidFile(data)
    if (file?.isReady && file.pid === identity.pid) return { identity, socketFolder: file.socketFolder }
    await sleep(pollMs)
  }
  return undefined
}

async function readPidFile(data: string): Promise<PidFile | undefined> {
  try {
    return parsePidFile(await readFile(join(data, "postmaster.pid"), "utf8"))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}
