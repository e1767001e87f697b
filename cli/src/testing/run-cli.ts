/** Runs the command line as a person would: a real process in a folder of its own. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { lineReader } from "../output/log-lines.js"

export const mainScript = fileURLToPath(import.meta.resolve("superstep/main"))

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

/** Settings of the user who runs the tests must not reach the command. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const ours = /^(SUPERSTEP_|DATABASE_URI$|FORCE_COLOR$|NODE_TEST_CONTEXT$)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)))
}

interface Place {
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
}

export const startCli = (args: readonly string[], { cwd, env = {} }: Place): Running =>
  startProgram([process.execPath, "--enable-source-maps", mainScript, ...args], {
    cwd,
    // A platform that the user of the tests runs must not be found, and no test waits for a download.
    env: { ...cleanEnvironment(), XDG_STATE_HOME: join(cwd, ".state"), SUPERSTEP_FETCH_NODE: "0", ...env },
  })

/** Starts a program in a process group of its own; a signal goes to the whole group, as a terminal's Ctrl-C does. */
export function startProgram([program, ...args]: readonly [string, ...string[]], { cwd, env }: Place): Running {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true })
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
  const pid = child.pid ?? 0
  return { pid, lines, ended, signal: (name) => signalGroup(pid, name) }
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name)
  } catch (error) {
    // It has already exited.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

export const runCli = (args: readonly string[], options: Place): Promise<Ended> => startCli(args, options).ended

/** Waits until it prints a line with these words. */
export async function untilPrinted({ lines, ended }: Running, words: string, timeoutMs = 60_000): Promise<void> {
  const over = ended.then(({ stdout, stderr }) => {
    throw new Error(`it ended before it printed "${words}": ${stdout}${stderr}`)
  })
  const isPrinted = () => lines.some((line) => line.includes(words))
  await Promise.race([until(isPrinted, { what: `it prints "${words}"`, timeoutMs }), over])
}

/** `superstep up` without the example, on ports of its own, as soon as it is up. */
export async function startUp(cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const ports = ["--port", String(await freePort()), "--agents-port", String(await freePort())]
  const running = startCli(["up", "--no-example", ...ports], { cwd, env })
  await untilPrinted(running, "Data  ")
  return running
}

export function interrupt(running: Running): Promise<Ended> {
  running.signal("SIGINT")
  return running.ended
}
