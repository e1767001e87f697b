/** Runs a command to its end, for commands that are short or whose parent waits: git, npm, initdb. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import type { OsUser } from "./spawn-detached.js"

export interface Command {
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  /** The whole environment of the command: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  readonly user?: OsUser | undefined
  /** After this many milliseconds the command and all it started are killed. */
  readonly timeoutMs: number
  /** Ends the command early, as `timeoutMs` does. */
  readonly signal?: AbortSignal | undefined
  /** Gets all output as it arrives, of both streams. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined
  /** How much of standard output and of standard error is kept, each in bytes; the rest is dropped. */
  readonly maxOutputBytes?: number
}

export interface CommandResult {
  readonly stdout: string
  readonly stderr: string
  /** Whether output was dropped. */
  readonly truncated: boolean
}

/** The command exited with another code than 0, or was killed. Its output may contain secrets of its input. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed"
  readonly program: string
  readonly exitCode: number | undefined
  /** Why it was killed, or the signal that ended it. */
  readonly killedBy: "timeout" | "abort" | NodeJS.Signals | undefined
  /** The last lines that it printed, at most 20. */
  readonly lastLines: string

  constructor(program: string, exitCode: number | undefined, killedBy: CommandFailed["killedBy"], lastLines: string) {
    super(`${program} ${killedBy ? `was killed (${killedBy})` : `exited with code ${exitCode}`}: ${lastLines}`)
    this.program = program
    this.exitCode = exitCode
    this.killedBy = killedBy
    this.lastLines = lastLines
  }
}

/**
 * Runs the command in a process group of its own, with standard input closed.
 * @throws CommandFailed  when it does not exit with code 0
 * @throws                the system's error when the program cannot be started (ENOENT, EACCES)
 */
export async function runCommand(command: Command): Promise<CommandResult> {
  command.signal?.throwIfAborted()
  const [program, ...args] = command.argv
  const child = spawn(program, args, {
    cwd: command.cwd,
    env: command.env,
    ...command.user,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const output = collectOutput(child, command)
  const killer = killAfterTimeout(child, command)
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null]
    if (code !== 0)
      throw new CommandFailed(program, code ?? undefined, killer.reason ?? signal ?? undefined, output.lastLines())
    return output.result()
  } finally {
    killer.disarm()
  }
}

/** `close` comes only when the output has ended too, so a grandchild that keeps it open must be killed with the group. */
function killAfterTimeout(child: ChildProcess, { timeoutMs, signal }: Command) {
  let reason: "timeout" | "abort" | undefined
  const kill = (why: "timeout" | "abort") => {
    reason ??= why
    if (child.pid !== undefined) killGroup(child.pid)
  }
  const onAbort = () => kill("abort")
  const timer = setTimeout(() => kill("timeout"), timeoutMs)
  signal?.addEventListener("abort", onAbort, { once: true })
  return {
    get reason() {
      return reason
    },
    disarm: () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
    },
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL")
  } catch (error) {
    // The whole group has ended already.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

const tailBytes = 8192
const tailLines = 20

function collectOutput(child: ChildProcess, { onOutput, maxOutputBytes = 1024 * 1024 }: Command) {
  const kept = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  let tail = Buffer.alloc(0)
  let truncated = false
  for (const name of ["stdout", "stderr"] as const) {
    let room = maxOutputBytes
    child[name]?.on("data", (chunk: Buffer) => {
      onOutput?.(chunk)
      tail = Buffer.concat([tail, chunk]).subarray(-tailBytes)
      if (chunk.length > room) truncated = true
      if (room > 0) kept[name].push(chunk.subarray(0, room))
      room -= Math.min(room, chunk.length)
    })
  }
  const text = (name: "stdout" | "stderr") => Buffer.concat(kept[name]).toString("utf8")
  return {
    lastLines: () => tail.toString("utf8").trim().split("\n").slice(-tailLines).join("\n"),
    result: (): CommandResult => ({ stdout: text("stdout"), stderr: text("stderr"), truncated }),
  }
}
