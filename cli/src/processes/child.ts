/** Starts one of our programs as a child in its own session: a terminal's Ctrl-C reaches only the CLI, which decides. */

import { type ChildProcess, spawn } from "node:child_process"
import { open } from "node:fs/promises"
import { endWithParent } from "@superstep/toolkit/exec/end-with-parent"
import { ownNodeOptions } from "@superstep/toolkit/exec/own-program"
import { identifyNewChild, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { lineReader } from "../output/log-lines.js"

export interface Child {
  readonly identity: ProcessIdentity
  /** How it exited: a text, and code 0 only for an orderly exit. */
  readonly exited: Promise<Exit>
  /** Asks it to exit, and kills it after `graceMs`. */
  stop(graceMs: number, signal?: NodeJS.Signals): Promise<void>
  kill(): void
}

export interface Exit {
  readonly code: number
  readonly words: string
}

export interface ChildCommand {
  /** Absolute path of the script. */
  readonly script: string
  /** The Node that runs it; ours by default. */
  readonly node?: string
  readonly args?: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** A file that its output is appended to: then it survives a kill of this program. */
  readonly logFile?: string
  /** Receives its output instead; then it exits with this program, since it would lose its pipe. */
  readonly onLine?: (line: string) => void
  /** Stores its identity. The script starts afterwards; if this program is killed before that, it never starts. */
  readonly note?: (identity: ProcessIdentity) => Promise<void>
}

export async function startChild({
  script,
  node: execPath = process.execPath,
  args: given = [],
  cwd,
  env,
  logFile,
  onLine,
  note,
}: ChildCommand): Promise<Child> {
  const node = [execPath, ...ownNodeOptions, script, ...given] as const
  const command = note ? afterLine(node) : node
  const [program, ...args] = onLine ? endWithParent(command, "TERM") : command
  const log = logFile === undefined ? undefined : await open(logFile, "a")
  const output = log ? log.fd : "pipe"
  const child = spawn(program, args, { cwd, env, detached: true, stdio: [note ? "pipe" : "ignore", output, output] })
  const exited = exitOf(child)
  const identity = child.pid === undefined ? undefined : await identifyNewChild(child.pid)
  await log?.close()
  if (!identity) throw new Error((await exited).words)
  if (note) await noteFirst(child, { noted: note(identity), exited })
  for (const stream of [child.stdout, child.stderr]) if (stream && onLine) readLines(stream, onLine)
  return {
    identity,
    exited,
    stop: async (graceMs, signal = "SIGTERM") => {
      await stopProcess(identity, { graceMs, signal })
      await exited
    },
    kill: () => child.kill("SIGKILL"),
  }
}

/**
 * A shell that becomes the program when it reads a line, and exits when its input closes without one: the kernel closes it when this
 * program is killed.
 */
const afterLine = (command: readonly string[]): readonly [string, ...string[]] => [
  "/bin/sh",
  "-c",
  'read -r _ && exec "$@" </dev/null',
  "sh",
  ...command,
]

async function noteFirst(
  { stdin }: ChildProcess,
  { noted, exited }: { readonly noted: Promise<void>; readonly exited: Promise<Exit> },
): Promise<void> {
  // Whoever has killed it meanwhile has closed its input: `exited` says how it ended.
  stdin?.on("error", () => undefined)
  try {
    await noted
    stdin?.end("\n")
  } catch (error) {
    stdin?.destroy()
    await exited
    throw error
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: 1, words: `cannot be started: ${error.message}` }))
    // `close` comes after its last output, `exit` may come before it.
    child.once("close", (code, signal) =>
      resolve(
        signal ? { code: 1, words: `was killed by ${signal}` } : { code: code ?? 1, words: `exited with code ${code}` },
      ),
    )
  })
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  const reader = lineReader(onLine)
  stream.setEncoding("utf8")
  stream.on("data", (chunk: string) => reader.push(chunk))
  stream.once("end", () => reader.end())
}
