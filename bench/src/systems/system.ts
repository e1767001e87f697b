/** A system under measurement: one of several servers that answer the same HTTP API. */
import { setTimeout as sleep } from "node:timers/promises"
import { BenchFailed, type Target, timeCall } from "../http-client.js"
import type { SystemName } from "../options.js"
import { Cleanup, lastLines, type Program, startProgram } from "../processes.js"

export interface System {
  readonly name: SystemName
  readonly target: Target
  /** False if streams end without an `end` event. */
  readonly saysEnd: boolean
  /** The main processes of the system, without their child processes. */
  readonly pids: readonly number[]
  /** Starts another instance with warm caches, and stops it. @param isFirst  on an empty folder: it has no database yet */
  timeStart(options?: { readonly isFirst?: boolean }): Promise<StartTimes>
}

/** Times in milliseconds since the process was spawned. */
export interface StartTimes {
  /** Until `/ok` answers 200. */
  readonly okMs: number
  /** Until a run has succeeded. */
  readonly firstRunMs: number
}

/** The folder of a scenario's systems, which is deleted after the scenario. */
export interface Place {
  readonly folder: string
  readonly cleanup: Cleanup
}

/** How to start a server process. */
export interface Launch {
  readonly program: Program
  readonly target: Target
}

export interface Kind {
  readonly name: SystemName
  readonly saysEnd: boolean
  /** Other processes that belong to the system. */
  readonly pids: readonly number[]
  /** A launch with a new address at each call. */
  prepare(): Promise<Launch>
  /** The same for a start on an empty folder, where that is something else. */
  prepareFirst?(): Promise<Launch>
}

export async function startSystem(
  { name, saysEnd, pids, prepare, prepareFirst = prepare }: Kind,
  cleanup: Cleanup,
): Promise<System> {
  const launch = await prepare()
  const pid = await start(name, launch, cleanup)
  return {
    name,
    saysEnd,
    target: launch.target,
    pids: [pid, ...pids],
    timeStart: ({ isFirst } = {}) => timeStart(name, isFirst ? prepareFirst : prepare),
  }
}

/** Starts an additional server for a scenario. */
export async function startServer(launch: Launch, cleanup: Cleanup): Promise<{ target: Target; pid: number }> {
  return { target: launch.target, pid: await start("server", launch, cleanup) }
}

async function timeStart(name: SystemName, prepare: Kind["prepare"]): Promise<StartTimes> {
  const launch = await prepare()
  await using cleanup = new Cleanup()
  const begin = performance.now()
  const ok = untilAnswers(launch.target, "GET", "/ok?live=1").then(() => performance.now() - begin)
  await start(name, launch, cleanup)
  return { firstRunMs: performance.now() - begin, okMs: await ok }
}

/** @throws BenchFailed  with the program's last output when it exits or does not respond */
async function start(name: SystemName, { program, target }: Launch, cleanup: Cleanup): Promise<number> {
  const child = startProgram(program, cleanup)
  const ended = new Promise<never>((_, reject) => {
    child.once("error", reject)
    child.once("exit", () => reject(new BenchFailed(`${name} exited: ${lastLines(program.logFile)}`)))
  })
  // Its exit is expected once the cleanup stops it.
  ended.catch(() => undefined)
  const input = { messages: [{ role: "user", content: "hello" }] }
  // A system is ready when it has executed a run; health checks may respond earlier.
  await Promise.race([ended, untilAnswers(target, "POST", "/runs/stream", { assistant_id: "echo", input })])
  return child.pid ?? Number.NaN
}

const [pollMs, patienceMs] = [5, 60_000]

/** @returns  the text of the first successful response  @throws BenchFailed  after the deadline */
export async function untilAnswers(target: Target, method: string, path: string, body?: unknown): Promise<string> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return (await timeCall(target, method, path, body)).answer
    } catch (cause) {
      if (performance.now() > deadline) throw new BenchFailed(`${path} does not respond`, { cause })
      await sleep(pollMs)
    }
  }
}

/** The target of a system on a Unix socket. */
export const onSocket = (socketPath: string): Target => ({ address: { socketPath }, prefix: "", headers: {} })
