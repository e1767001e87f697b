/** Runs the control plane for a data folder, restarts it when it exits, and knows when it is ready. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { rotateLog } from "@superstep/toolkit/log/rotate-log"
import type { Config } from "../command-line/config.js"
import { formatLogLine } from "../output/log-lines.js"
import type { Exit } from "../processes/child.js"
import { startChild } from "../processes/child.js"
import { type Supervised, supervise } from "../processes/supervise.js"
import { untilAnswers } from "../processes/until-answers.js"
import type { Home } from "./home.js"
import type { Ownership } from "./owner.js"

export interface ControlOptions {
  readonly home: Home
  readonly config: Config
  readonly ownership: Ownership
  readonly databaseUri: string
  readonly host: string
  readonly port: number
  readonly agentsPort: number
  /** Called when it exited unexpectedly and will be restarted. */
  readonly onEnd: (exit: Exit, delayMs: number) => void
}

/** The control plane exited before it was ready. */
export class ControlPlaneFailed extends KnownError {
  readonly code = "control_plane_failed"
}

const controlScript = (): string => fileURLToPath(import.meta.resolve("@superstep/control/main"))

/** The variables that control/src/config.ts reads; all others of the shell are passed on, such as SUPERSTEP_PUBLIC_URL. */
const controlEnvironment = ({
  home,
  config,
  databaseUri,
  host,
  port,
  agentsPort,
}: Omit<ControlOptions, "ownership" | "onEnd">): Record<string, string> => ({
  ...config.environment,
  SUPERSTEP_HOME: home.folder,
  DATABASE_URI: databaseUri,
  SUPERSTEP_HOST: host,
  SUPERSTEP_PORT: String(port),
  SUPERSTEP_AGENTS_PORT: String(agentsPort),
  ...(config.tlsCert !== undefined && { SUPERSTEP_TLS_CERT: config.tlsCert }),
  ...(config.tlsKey !== undefined && { SUPERSTEP_TLS_KEY: config.tlsKey }),
  // A signal from us means Ctrl-C for everything; a control plane that crashes leaves its agents running.
  SUPERSTEP_STOP_ALL_ON_EXIT: "1",
})

const logFile = (home: Home): string => join(home.logs, "control.log")

export async function startControl(options: ControlOptions): Promise<Supervised> {
  const { home, ownership } = options
  await rotateLog(logFile(home))
  const start = () =>
    startChild({
      script: controlScript(),
      cwd: home.folder,
      env: controlEnvironment(options),
      logFile: logFile(home),
      note: (identity) => ownership.noteChild(identity),
    })
  return supervise({ start, log: home.log, onEnd: options.onEnd })
}

/**
 * Waits until the API answers and the control plane supervises agents.
 * @returns  whether it is ready; false when the stop came first
 * @throws ControlPlaneFailed  with the last lines of its log
 */
export async function untilControlReady({
  home,
  control,
  url,
  stop,
}: {
  home: Home
  control: Supervised
  url: string
  stop: Promise<unknown>
}): Promise<boolean> {
  const failed = control.first.then((exit) => exit)
  if (await untilAnswers({ url: `${url}/health` }, Promise.race([failed, stop]))) return true
  const exit = await Promise.race([failed, stop.then(() => undefined)])
  if (!exit) return false
  throw new ControlPlaneFailed(`the control plane ${exit.words}:\n${await lastLines(logFile(home))}`)
}

const shownLines = 5

async function lastLines(file: string): Promise<string> {
  const lines = (await readFile(file, "utf8")).trim().split("\n").slice(-shownLines)
  return lines.map((line) => `  ${formatLogLine(line, (_, text) => text)}`).join("\n")
}
