/** Owns every process of a benchmark: all are stopped in reverse order, however the benchmark ends. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, openSync, readFileSync } from "node:fs"
import { BenchFailed } from "./http-client.js"
import { treeOf } from "./process-usage.js"

const politely = { signal: "SIGTERM", graceMs: 10_000 } as const

export class Cleanup implements AsyncDisposable {
  readonly #steps: (() => unknown)[] = []
  #isOver = false

  /** Adds a cleanup step. Steps run in reverse order. @throws BenchFailed  the cleanup has already started */
  add(step: () => unknown): void {
    this.assertOpen()
    this.#steps.push(step)
  }

  /** Call it before starting a process: after the start of the cleanup nothing would stop it. @throws BenchFailed */
  assertOpen(): void {
    if (this.#isOver) throw new BenchFailed("the benchmark is over")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) await step()
  }
}

export interface Program {
  readonly argv: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
  readonly cwd?: string
  /** Our file descriptors that the program inherits as 3, 4 and so on. */
  readonly descriptors?: readonly number[]
  /** The signal that stops it, and the time until it is killed. */
  readonly stop?: { readonly signal: NodeJS.Signals; readonly graceMs: number }
}

/** Starts a program that writes its output to the file. The cleanup stops it. */
export function startProgram(
  { argv, env, logFile, cwd, descriptors = [], stop: how = politely }: Program,
  cleanup: Cleanup,
): ChildProcess {
  cleanup.assertOpen()
  const [program, ...args] = argv
  const log = openSync(logFile, "a")
  const stdio = ["pipe" as const, log, log, ...descriptors]
  const child = spawn(program, args, { env: { ...inherited(), ...env }, stdio, cwd })
  closeSync(log)
  cleanup.add(() => stop(child, how))
  return child
}

/** The environment variables that a program needs, without any that could affect the measurement. */
function inherited(): Record<string, string> {
  const names = ["PATH", "HOME", "TMPDIR", "LANG", "TZ"]
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}

async function stop(child: ChildProcess, { signal, graceMs }: NonNullable<Program["stop"]>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, "exit")
  const started = (await treeOf([child.pid])).filter((pid) => pid !== child.pid)
  child.kill(signal)
  const kill = setTimeout(() => child.kill("SIGKILL"), graceMs)
  await exited
  clearTimeout(kill)
  started.forEach(killIfAlive)
}

/** Kills a child that its killed parent could not stop. */
function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

/** The last lines of a program's output, for error messages. */
export const lastLines = (logFile: string): string =>
  readFileSync(logFile, "utf8").trim().split("\n").slice(-15).join("\n")
