/** A deployment without a platform: clone, install from npm's cache, start, one after another. */
import { join } from "node:path"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { pathTo } from "../paths.js"
import { Cleanup, startProgram } from "../processes.js"
import { startDatabases } from "./server.js"
import { onSocket, untilAnswers } from "./system.js"

export interface HandTimes {
  readonly fetchMs: number
  readonly buildMs: number
  /** Time until `/ok` responds. */
  readonly startMs: number
  /** Total time until a run has ended. The graphs are loaded only after `/ok` responds. */
  readonly answerMs: number
  readonly answer: string
}

export interface ByHand {
  /** Deploys the current commit of `main`. */
  deploy(): Promise<HandTimes>
  /** Starts the previously deployed version again. */
  goBack(): Promise<Pick<HandTimes, "startMs" | "answer">>
}

const commandMs = 300_000

/** @param ask  starts the run that shows which version is deployed */
export async function byHand(
  folder: string,
  { repository, ask }: { repository: string; ask: { path: string; body: unknown } },
  cleanup: Cleanup,
): Promise<ByHand> {
  const postgres = await startDatabases(folder, cleanup)
  const databaseUri = await createDatabase({ adminUri: postgres.superuserUri, name: "by_hand" })
  const trees: string[] = []
  let running = new Cleanup()
  cleanup.add(() => running[Symbol.asyncDispose]())
  const command = async (cwd: string, ...argv: [string, ...string[]]) => {
    const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", npm_config_cache: join(folder, "npm") }
    const begin = performance.now()
    await runCommand({ argv, cwd, env, timeoutMs: commandMs })
    return performance.now() - begin
  }
  let starts = 0
  const start = async (tree: string) => {
    // The new process replaces the old one. Stopping the old one is not part of the measured start.
    await running[Symbol.asyncDispose]()
    running = new Cleanup()
    const target = onSocket(join(folder, `agent-${++starts}.sock`))
    const env = {
      SUPERSTEP_CONFIG: join(tree, "langgraph.json"),
      DATABASE_URI: databaseUri,
      SUPERSTEP_LISTEN: `unix:${join(folder, `agent-${starts}.sock`)}`,
      SUPERSTEP_WORKERS: "2",
      BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0",
      LOG_LEVEL: "warn",
    }
    const begin = performance.now()
    startProgram(
      { argv: [process.execPath, pathTo("../server/programs/main.js")], env, logFile: join(folder, "agent.log") },
      running,
    )
    await untilAnswers(target, "GET", "/ok")
    const startMs = performance.now() - begin
    const answer = await untilAnswers(target, "POST", ask.path, ask.body)
    return { startMs, answer, endMs: performance.now() - begin }
  }
  return {
    deploy: async () => {
      const tree = join(folder, `tree-${trees.length}`)
      // The first install fills npm's cache; later ones work offline.
      const offline = trees.length === 0 ? [] : ["--offline"]
      const fetchMs = await command(folder, "git", "clone", "--quiet", "--depth", "1", repository, tree)
      const buildMs = await command(tree, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", ...offline)
      trees.push(tree)
      const { startMs, answer, endMs } = await start(tree)
      return { fetchMs, buildMs, startMs, answerMs: fetchMs + buildMs + endMs, answer }
    },
    goBack: () => start(trees.at(-2) ?? ""),
  }
}
