/** Runs the command line as a person would: a real process in a folder of its own. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { lineReader } from "../output/log-lines.js"

export const mainScript = fileURLToPath(new URL("../main.js", import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly pid: number
  /** All lines of both outputs so far. */
  readonly lines: readonly string[]
  readonly ended: Promise<Ended>
  signal(name: NodeJS.Signals): void
}

/** Settings of whoever runs the tests must not reach the command. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const ours = /^(SUPERSTEP_|DATABASE_URI$|FORCE_COLOR$|NODE_TEST_CONTEXT$)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)))
}

export function startCli(
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: NodeJS.ProcessEnv },
): Running {
  const child = spawn(process.execPath, ["--enable-source-maps", mainScript, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const text = { stdout: "", stderr: "" }
  const lines: string[] = []
  for (const name of ["stdout", "stderr"] as const) {
    const reader = lineReader((line) => lines.push(line))
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk
      reader.push(chunk)
    })
    child[name].once("end", () => reader.end())
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, ...text }))
  })
  return { pid: child.pid ?? 0, lines, ended, signal: (name) => child.kill(name) }
}

export const runCli = (args: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): Promise<Ended> =>
  startCli(args, options).ended
