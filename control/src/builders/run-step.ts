/** Runs one step of a build in a process group of its own and watches over its time. */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"

export interface StepCommand {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly user: OsUser | null
  readonly limitMs: number
  readonly silenceMs: number
  /** Told the leader of the step's group before it can do anything, so that another process can end it. */
  readonly onStart?: (pid: number) => void
}

export type StepEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals }
  | { readonly kind: "timed out" }
  | { readonly kind: "silent" }
  | { readonly kind: "not started"; readonly message: string }

/**
 * Whatever ends the step, no process of its group is left.
 * @param onLine  each line of standard output and error, in the order it came
 */
export async function runStep(
  command: StepCommand,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<StepEnd> {
  const [program, ...args] = command.argv
  const child = spawn(program, args, {
    cwd: command.cwd,
    env: command.env,
    ...command.user,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  if (child.pid !== undefined) command.onStart?.(child.pid)
  let early: StepEnd | undefined
  const stop = (end: StepEnd) => {
    early ??= end
    killGroup(child)
  }
  const limit = setTimeout(() => stop({ kind: "timed out" }), command.limitMs)
  const silence = setTimeout(() => stop({ kind: "silent" }), command.silenceMs)
  const onAbort = () => stop({ kind: "killed", signal: "SIGTERM" })
  signal.addEventListener("abort", onAbort, { once: true })
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      silence.refresh()
      onLine(line)
    })
  }
  try {
    const end = await untilEnd(child)
    return early ?? end
  } finally {
    clearTimeout(limit)
    clearTimeout(silence)
    signal.removeEventListener("abort", onAbort)
    killGroup(child)
  }
}

function untilEnd(child: ChildProcess): Promise<StepEnd> {
  return new Promise((resolve) => {
    child.once("error", ({ message }) => resolve({ kind: "not started", message }))
    // Not "close": something a script left in the background may hold the pipes open for ever.
    child.once("exit", (code, exitSignal) => {
      const end: StepEnd = exitSignal ? { kind: "killed", signal: exitSignal } : { kind: "exited", code: code ?? 1 }
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

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch (error) {
    // Nobody of the group is left.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}
