/** The steps of a build, one after the other. It runs inside the build process. */
import { lchown, mkdir, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { WriteLine } from "./build-log.js"
import type { BuildRequest, BuildResult } from "./build-request.js"
import { BuildFailed } from "./failure.js"
import type { BuildStep } from "./plan.js"
import { prune, publish } from "./publish.js"
import { runStep, type StepEnd } from "./run-step.js"
import { readVerification, type Verification } from "./verification.js"

export interface BuildInput {
  /** Told each step's process, as soon as it runs. */
  readonly onStart: (pid: number) => void
  readonly request: BuildRequest
  /** The deployment's variables: graphs are loaded with them, install and build commands never see them. */
  readonly agentEnv: Readonly<Record<string, string>>
  readonly writeLine: WriteLine
  readonly signal: AbortSignal
}

/** @throws BuildFailed  with a reason that a person understands */
export async function build(input: BuildInput): Promise<BuildResult> {
  const { request, writeLine } = input
  await prepareHome(request)
  for (const note of request.plan.notes) writeLine(note, "WARNING")
  for (const step of request.plan.steps) await runPlanned(step, input)
  const loaded = await verify(input)
  const gone = await prune(request.tree, dirname(request.configPath))
  for (const path of gone) writeLine(`left out of the artefact: ${path}`)
  await rm(request.home, { recursive: true, force: true })
  await publish(request.tree, request.artifactFolder, request.user)
  writeLine("build finished")
  return { outcome: "published", graphs: loaded.graphs, langgraph_version: loaded.langgraph_version ?? null }
}

async function prepareHome({ home, user }: BuildRequest): Promise<void> {
  for (const folder of [home, join(home, "tmp")]) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (user) await lchown(folder, user.uid, user.gid)
  }
}

async function runPlanned(step: BuildStep, { request, writeLine, signal, onStart }: BuildInput): Promise<void> {
  const shown = step.argv[0] === "sh" ? step.argv.at(-1) : step.argv.join(" ")
  writeLine(`${step.name}: ${shown}${step.folder === "" ? "" : ` (in ${step.folder})`}`)
  const { installMs, buildMs, silenceMs } = request.limits
  const limitMs = step.name === "install" ? installMs : buildMs
  const command = {
    argv: step.argv,
    cwd: join(request.tree, step.folder),
    env: request.environment,
    user: request.user,
  }
  const end = await runStep({ ...command, limitMs, silenceMs, onStart }, writeLine, signal)
  if (end.kind === "exited" && end.code === 0) return
  throw new BuildFailed(
    end.kind === "timed out" || end.kind === "silent" ? "build_timeout" : step.failure,
    `"${shown}" ${wordsFor(end, { limitMs, silenceMs })}`,
  )
}

export function wordsFor(end: StepEnd, { limitMs, silenceMs }: { limitMs: number; silenceMs: number }): string {
  switch (end.kind) {
    case "exited":
      return `ended with exit code ${end.code}`
    case "killed":
      return `was ended by ${end.signal}`
    case "timed out":
      return `took longer than ${limitMs / 1000} s`
    case "silent":
      return `printed nothing for ${silenceMs / 1000} s`
    case "not started":
      return `could not be started: ${end.message}`
  }
}

/** Loads every graph once, as the agent server will: a missing export is told now and not after the switch. */
async function verify({ request, agentEnv, writeLine, signal, onStart }: BuildInput): Promise<Verification> {
  writeLine("verify: load every graph")
  const resultFile = join(request.home, "verify.json")
  const { verifyMs } = request.limits
  const env = { ...agentEnv, ...request.environment }
  const configFile = join(request.tree, request.configPath)
  const argv = [process.execPath, request.verifyEntry, configFile, resultFile] as const
  const limits = { limitMs: verifyMs, silenceMs: verifyMs }
  const command = { argv, cwd: dirname(configFile), env, user: request.user, ...limits, onStart }
  const end = await runStep(command, writeLine, signal)
  const loaded = await readVerification(resultFile)
  if (loaded && loaded.failed.length > 0) throw new BuildFailed("graph_load_failed", describeFailed(loaded, writeLine))
  if (loaded && end.kind === "exited" && end.code === 0) return loaded
  throw new BuildFailed("graph_load_failed", `loading the graphs ${wordsFor(end, limits)}`)
}

function describeFailed({ failed }: Verification, writeLine: WriteLine): string {
  for (const { graph_id, message, code_frame } of failed) {
    writeLine(`graph "${graph_id}" does not load: ${message}`, "ERROR")
    for (const line of code_frame?.split("\n") ?? []) writeLine(line, "ERROR")
  }
  return failed.map(({ graph_id, message }) => `graph "${graph_id}" does not load: ${message}`).join("; ")
}
