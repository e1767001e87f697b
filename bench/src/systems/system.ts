/** A system under measurement: one of several servers that answer the same HTTP API. */
import { setTimeout as sleep } from "node:timers/promises"
import { BenchFailed, type Target, timeCall } from "../http-client.js"
import { Cleanup, lastLines, type Program, startProgram } from "../processes.js"

export type SystemName = "floor" | "server" | "edge" | "peer"

export interface System {
  readonly name: SystemName
  readonly target: Target
  /** False where a stream just stops instead of saying `end`. */
  readonly saysEnd: boolean
  /** The processes that the system consists of, without what they started. */
  readonly pids: readonly number[]
  /** Starts another one of its kind, with everything warm, and stops it again. */
  timeStart(): Promise<StartTimes>
}

/** Milliseconds since the process was asked for. */
export interface StartTimes {
  /** Until `/ok` answers 200. */
  readonly okMs: number
  /** Until a run has ended well. */
  readonly firstRunMs: number
}

/** Where a scenario's systems live. All of it is gone when the scenario is over. */
export interface Place {
  readonly folder: string
  readonly cleanup: Cleanup
}

/** How to start a process that serves. */
export interface Launch {
  readonly program: Program
  readonly target: Target
}

export interface Kind {
  readonly name: SystemName
  readonly saysEnd: boolean
  /** Other processes that belong to it. */
  readonly pids: readonly number[]
  /** A launch at a new address each time. */
  prepare(): Promise<Launch>
}

export async function startSystem({ name, saysEnd, pids, prepare }: Kind, cleanup: Cleanup): Promise<System> {
  const launch = await prepare()
  const pid = await start(name, launch, cleanup)
  return { name, saysEnd, target: launch.target, pids: [pid, ...pids], timeStart: () => timeStart(name, prepare) }
}

async function timeStart(name: SystemName, prepare: Kind["prepare"]): Promise<StartTimes> {
  const launch = await prepare()
  await using cleanup = new Cleanup()
  const begin = performance.now()
  const ok = untilAnswers(launch.target, "GET", "/ok?live=1").then(() => performance.now() - begin)
  await start(name, launch, cleanup)
  return { firstRunMs: performance.now() - begin, okMs: await ok }
}

/** @throws BenchFailed  with the program's last words when it ends, or never answers */
async function start(name: SystemName, { program, target }: Launch, cleanup: Cleanup): Promise<number> {
  const child = startProgram(program, cleanup)
  const ended = new Promise<never>((_, reject) => {
    child.once("error", reject)
    child.once("exit", () => reject(new BenchFailed(`${name} ended: ${lastLines(program.logFile)}`)))
  })
  // Whoever stops it later has no use for its end.
  ended.catch(() => undefined)
  const input = { messages: [{ role: "user", content: "hello" }] }
  // One that has executed a run is ready, whatever its health check promises.
  await Promise.race([ended, untilAnswers(target, "POST", "/runs/stream", { assistant_id: "echo", input })])
  return child.pid ?? Number.NaN
}

const [pollMs, patienceMs] = [5, 60_000]

/** @returns  the first good answer's text  @throws BenchFailed  when none comes */
export async function untilAnswers(target: Target, method: string, path: string, body?: unknown): Promise<string> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return (await timeCall(target, method, path, body)).answer
    } catch (cause) {
      if (performance.now() > deadline) throw new BenchFailed(`${path} does not answer`, { cause })
      await sleep(pollMs)
    }
  }
}

/** A system that answers on a Unix socket. */
export const onSocket = (socketPath: string): Target => ({ address: { socketPath }, prefix: "", headers: {} })
