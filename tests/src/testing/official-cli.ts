/** The vendor's deploy CLIs, unmodified, as their users start them. */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { dirname, join } from "node:path"
import { until } from "@superstep/toolkit/testing/until"
import type { Platform } from "./installation.js"

export const withoutRegistries =
  process.env.SUPERSTEP_WIDE_TESTS !== "1" && "needs the package registries: .ci/run runs it, or SUPERSTEP_WIDE_TESTS=1"

const python = process.env.SUPERSTEP_TEST_PYTHON
export const withoutPython =
  withoutRegistries || (!python && "SUPERSTEP_TEST_PYTHON names no Python with langgraph-cli")

export type Cli = readonly string[]
/** The last release of the JavaScript CLI that has `deploy`. */
export const javascript: Cli = ["npx", "-y", "@langchain/langgraph-cli@1.5.1"]
export const pythonCli: Cli = [join(dirname(python ?? ""), "langgraph")]

export interface Ended {
  readonly code: number
  /** Both outputs, one after the other. */
  readonly printed: string
  readonly stdout: string
}

export interface CliOptions {
  readonly platform: Platform
  readonly cwd: string
  /** Added to the few variables that a CLI gets. */
  readonly env?: Readonly<Record<string, string>>
  readonly apiKey?: string
}

const environment = (env: Readonly<Record<string, string>> = {}) => {
  const { PATH = "", HOME = "", TMPDIR = "" } = process.env
  return { PATH, HOME, TMPDIR, NO_COLOR: "1", PYTHONUNBUFFERED: "1", LANGGRAPH_CLI_NO_ANALYTICS: "1", ...env }
}

/** An address in the environment takes the place of `--host-url`. */
const argvOf = (cli: Cli, { platform, apiKey, env }: CliOptions, args: readonly string[]) => {
  const [program = "", ...rest] = cli
  if (env?.LANGSMITH_ENDPOINT) return [program, [...rest, "deploy", ...args]] as const
  const target = ["--host-url", platform.credentials.url, "--api-key", apiKey ?? platform.credentials.api_key]
  return [program, [...rest, "deploy", ...args, ...target]] as const
}

/** Runs `deploy …` with nothing to read from; it ends within the limits of the CLI itself. */
export function tryCli(cli: Cli, options: CliOptions, args: readonly string[]): Promise<Ended> {
  const [program, argv] = argvOf(cli, options, args)
  const limits = { cwd: options.cwd, env: environment(options.env), timeout: 1_000_000, maxBuffer: 64 * 1024 * 1024 }
  return new Promise((resolve, reject) => {
    const child = execFile(program, argv, limits, (error, stdout, stderr) => {
      const code = error ? error.code : 0
      if (typeof code !== "number") return reject(error)
      resolve({ code, stdout, printed: `${stdout}\n${stderr}` })
    })
    child.stdin?.end()
  })
}

/** As `tryCli`. @throws when it exits with another code than 0; what it printed is in the error */
export async function runCli(cli: Cli, options: CliOptions, ...args: string[]): Promise<string> {
  const { code, printed } = await tryCli(cli, options, args)
  if (code !== 0) throw new Error(`deploy ${args.join(" ")} exited with code ${code}:\n${printed}`)
  return printed
}

/** Follows a deployment's log until `line` came, then ends the CLI as a terminal's Ctrl-C does: with all that it started. */
export async function followLog(cli: Cli, options: CliOptions, deploymentId: string, line: string): Promise<string> {
  const [program, argv] = argvOf(cli, options, ["logs", "--follow", "--deployment-id", deploymentId])
  const { cwd, env } = options
  const child = spawn(program, argv, {
    cwd,
    env: environment(env),
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  })
  let printed = ""
  child.stdout.on("data", (text: Buffer) => (printed += text.toString()))
  // Its output ends with the last of its processes.
  const ended = once(child, "close")
  try {
    await until(() => printed.includes(line), { what: "a line of the log", timeoutMs: 60_000 })
  } finally {
    process.kill(-(child.pid ?? 0), "SIGINT")
    await ended
  }
  return printed
}
