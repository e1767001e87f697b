/**
 * Runs one step of a build and enforces its limits of time, memory and disk. However the step ends, all its processes end
 * with it: those of its namespace, or else its group and its descendants, which are killed.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { addAbortListener } from "node:events"
import { constants } from "node:os"
import { processTree } from "@superstep/toolkit/exec/process-tree"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { floodGate, lineSplitter } from "./bounded-lines.js"
import { type Confinement, confinedArgv } from "./confinement.js"
import { diskExcess, type Excess, type StepRoom, watchStep } from "./step-watch.js"

export interface StepCommand {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly user: OsUser | null
  readonly confinement: Confinement
  readonly limitMs: number
  readonly silenceMs: number
  readonly room: StepRoom
  /** Called with the leader of the step's group before it can do anything, so that another process can stop it. */
  readonly onStart?: (pid: number) => void
}

export type StepEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals }
  | { readonly kind: "timed out" }
  | { readonly kind: "silent" }
  | Excess
  | { readonly kind: "not started"; readonly message: string }

// A log with more output than this is of no use; the end is kept.
const flood = { most: 4 * 1024 * 1024, last: 200 }

/** @param onLine  called with each line of standard output and error, in order; of a flood only with its start and end */
export async function runStep(
  command: StepCommand,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<StepEnd> {
  // A file that reaches this size is over the step's limit.
  const maxFileMb = command.room.diskMb + 1
  const [program, ...args] = confinedArgv(command.argv, command.confinement, { user: command.user, maxFileMb })
  const child = spawn(program, args, {
    cwd: command.cwd,
    env: command.env,
    // With a namespace, the change of user comes after its creation, which needs root.
    ...(command.confinement.isNamespace ? {} : command.user),
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  if (child.pid !== undefined) command.onStart?.(child.pid)
  const over = new AbortController()
  let early: StepEnd | undefined
  const stop = (end: StepEnd) => {
    early ??= end
    killAll(child)
  }
  const limit = setTimeout(() => stop({ kind: "timed out" }), command.limitMs)
  const silence = setTimeout(() => stop({ kind: "silent" }), command.silenceMs)
  const onAbort = () => stop({ kind: "killed", signal: "SIGTERM" })
  const listening = addAbortListener(signal, onAbort)
  if (child.pid !== undefined) watchStep(child.pid, command.room, stop, over.signal)
  const endOutput = readOutput(child, () => silence.refresh(), onLine)
  try {
    const end = await untilEnd(child)
    return early ?? (await diskExcess(command.room)) ?? end
  } finally {
    clearTimeout(limit)
    clearTimeout(silence)
    over.abort()
    listening[Symbol.dispose]()
    // A namespace has ended with its first process, whose pid may belong to another process by now.
    if (!command.confinement.isNamespace) killAll(child)
    endOutput()
  }
}

/** @returns  a function that passes on the lines still held back */
function readOutput(child: ChildProcess, onOutput: () => void, onLine: (line: string) => void): () => void {
  const gate = floodGate(onLine, flood)
  const splitters = [child.stdout, child.stderr].map((stream) => {
    const splitter = lineSplitter(gate.push)
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      onOutput()
      splitter.push(chunk)
    })
    return splitter
  })
  return () => {
    for (const splitter of splitters) splitter.end()
    gate.end()
  }
}

function untilEnd(child: ChildProcess): Promise<StepEnd> {
  return new Promise((resolve) => {
    child.once("error", ({ message }) => resolve({ kind: "not started", message }))
    // Not "close": a background process of a script may hold the pipes open forever.
    child.once("exit", (code, exitSignal) => {
      const end = endOf(code, exitSignal)
      const settle = setTimeout(() => resolve(end), drainMs)
      child.once("close", () => {
        clearTimeout(settle)
        resolve(end)
      })
    })
  })
}

// The last lines of an ended step are in its pipes; reading them takes no longer than this.
const drainMs = 1000

/** A shell reports the signal that ended its command as 128 plus its number. */
function endOf(code: number | null, signal: NodeJS.Signals | null): StepEnd {
  const reported = Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0]
  if (signal ?? reported) return { kind: "killed", signal: signal ?? (reported as NodeJS.Signals) }
  return { kind: "exited", code: code ?? 1 }
}

/** Kills descendants first: once their parents have ended, they cannot be found any more. */
function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return
  for (const pid of [...processTree(child.pid).pids, -child.pid]) {
    try {
      process.kill(pid, "SIGKILL")
    } catch (error) {
      // It has ended by now.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
    }
  }
}
