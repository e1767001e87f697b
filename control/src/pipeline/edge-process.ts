/** The edge as a process of its own: started once, found again after a restart, started again when it has died. */
import { mkdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { Log, LogLevel } from "@superstep/toolkit/log/log"
import { edgeProcess, edgeStatus, pushTable } from "../edge/client.js"
import { readJson, writeJson } from "../files/json-file.js"
import { readLines } from "../files/read-lines.js"
import type { Edge } from "./context.js"
import type { Folders } from "./folders.js"

export interface EdgeOptions {
  readonly folders: Folders
  readonly host: string
  readonly port: number
  readonly logLevel: LogLevel
  readonly trustedProxies: string
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
}

export interface EdgeProcess extends Edge {
  /** Ends it: open requests have a short grace. */
  stop(): Promise<void>
}

// An edge listens after a tenth of a second; a busy machine takes longer.
const startMs = 15_000
const pollMs = 50
// A little more than the grace that the edge itself gives to what is open.
const stopMs = 12_000

/** Where the edge says who is to wake up. */
export const wakeSocketOf = (folders: Folders): string => join(folders.run, "wake.sock")

/** The edge that belongs to a data folder. */
export function edgeOnThisMachine(options: EdgeOptions): EdgeProcess {
  const { folders, host, port, log } = options
  const adminSocket = join(folders.run, "edge.sock")
  const identityFile = join(folders.edge, "pid.json")
  const outputFile = join(folders.edge, "out.log")

  const address = `${host}:${port}`

  const find = async (): Promise<EdgeIdentity | undefined> => {
    const identity = await readJson<EdgeIdentity>(identityFile)
    return identity && (await isAlive(identity)) ? identity : undefined
  }

  const ensure = async (): Promise<void> => {
    const running = await find()
    if (running?.address === address) return
    // It was started with other settings.
    if (running) await stop()
    // One whose identity was never written down, because we were killed right then, still answers.
    const pid = await edgeStatus(adminSocket).then((status) => status.pid, undefinedIfUnavailable)
    const identity = pid === undefined ? await start(options, { adminSocket, outputFile }) : await identify(pid)
    if (identity) await writeJson(identityFile, { ...identity, address } satisfies EdgeIdentity)
    await untilAnswering(identity, { adminSocket, outputFile })
    log.info({ pid: identity?.pid, host, port }, "edge runs")
  }

  const stop = async (): Promise<void> => {
    const identity = await find()
    if (identity) await stopProcess(identity, { graceMs: stopMs })
    await rm(identityFile, { force: true })
  }
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  const url = `http://${name.includes(":") ? `[${name}]` : name}:${port}`
  const push: Edge["push"] = (table) => pushTable(adminSocket, table)
  return { url, push, status: () => edgeStatus(adminSocket), ensure, stop }
}

interface EdgeIdentity extends ProcessIdentity {
  /** Where it was told to listen, `host:port`. */
  readonly address: string
}

interface EdgeFiles {
  readonly adminSocket: string
  readonly outputFile: string
}

async function start(options: EdgeOptions, { adminSocket, outputFile }: EdgeFiles): Promise<ProcessIdentity> {
  const { folders, host, port, logLevel, trustedProxies, environment } = options
  await mkdir(folders.edge, { recursive: true, mode: 0o700 })
  // One former log is kept; what is in the new one is this process's.
  await rename(outputFile, `${outputFile}.1`).catch(ignoreMissing)
  const tablePath = join(folders.edge, "table.json")
  const wakeSocket = wakeSocketOf(folders)
  const { argv, env } = edgeProcess({ host, port, adminSocket, tablePath, wakeSocket, logLevel, trustedProxies })
  return spawnDetached({ argv, cwd: folders.edge, env: { PATH: environment.PATH ?? "", ...env }, outputFile })
}

async function untilAnswering(
  identity: ProcessIdentity | undefined,
  { adminSocket, outputFile }: EdgeFiles,
): Promise<void> {
  const deadline = performance.now() + startMs
  while ((await edgeStatus(adminSocket).catch(undefinedIfUnavailable)) === undefined) {
    const isGone = identity === undefined || !(await isAlive(identity))
    if (isGone || performance.now() > deadline) {
      const { lines } = await readLines(outputFile, 0)
      throw new Unavailable(`the edge does not start: ${lines.slice(-3).join(" ")}`)
    }
    await sleep(pollMs)
  }
}

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error
}
