/** Loads every graph once, as the agent server will: a missing export fails the build and not the switch. */

import { randomUUID } from "node:crypto"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type LoadFailure, loadProblems, loadSentence } from "@superstep/protocol/unit/load-failures"
import { secretsOf } from "@superstep/toolkit/config/settings"
import { settingsFileVariable, writeSettingsFile } from "@superstep/toolkit/config/settings-file"
import type { BuildInput } from "./build-input.js"
import type { BuildRequest } from "./build-request.js"
import { BuildFailed } from "./faults/build-failed.js"
import { loadFailure } from "./faults/load-failure.js"
import { gatherEntries } from "./log-entries.js"
import { readProjectConfig } from "./project/project-facts.js"
import { venvName } from "./python/plan-python.js"
import { runStep } from "./run-step.js"
import { codeFor, wordsFor } from "./step-words.js"
import { readVerification, type Verification } from "./verification.js"

/**
 * Runs the program of each language that the project has, one after the other.
 * @throws BuildFailed  `graph_load_failed`, `secret_missing`, `module_missing`, `load_timeout`, `build_oom`, `build_too_big`
 */
export async function verify(input: BuildInput): Promise<Verification> {
  const { tree, configPath } = input.request
  const { hasJavascript, python } = await readProjectConfig(tree, configPath)
  const { node, verifyEntry } = input.request
  const found: Verification[] = []
  if (hasJavascript) found.push(await verifyWith([node.path, verifyEntry], input))
  if (python) found.push(await verifyWith(pythonVerifier(input.request), input))
  return {
    graphs: found.flatMap(({ graphs }) => graphs),
    failed: [],
    langgraph_version: found.find(({ langgraph_version }) => langgraph_version)?.langgraph_version,
    lacks_schemas: found.some(({ lacks_schemas }) => lacks_schemas),
  }
}

function pythonVerifier({ tree, configPath, verifyPython }: BuildRequest): readonly string[] {
  if (verifyPython === undefined) throw new Error("this build was started by a release without Python")
  return [join(tree, dirname(configPath), venvName, "bin/python"), verifyPython]
}

/** @param program  the command, to which the configuration file and the file for the result are added */
async function verifyWith(
  program: readonly string[],
  { request, agentEnv, ...input }: BuildInput,
): Promise<Verification> {
  const { writeLine, signal, onStart, confinement, room } = input
  // A random name: a program of the project may have placed something at any name that it can guess.
  const resultFile = join(request.home, `verify-${randomUUID()}.json`)
  const { verifyMs } = request.limits
  const env = { ...request.environment, [settingsFileVariable]: await writeVariables(request, agentEnv) }
  const configFile = join(request.tree, request.configPath)
  const argv = [process.execPath, withVariables, ...program, configFile, resultFile] as const
  const limits = { limitMs: verifyMs, silenceMs: verifyMs }
  const command = { argv, cwd: dirname(configFile), env, user: request.user, ...limits, onStart, confinement, room }
  const output = gatherEntries(writeLine)
  const end = await runStep(command, output.push, signal)
  output.end()
  const loaded = await readVerification(resultFile)
  if (loaded && loaded.failed.length > 0)
    throw loadFailed(loaded, { tree: request.tree, given: Object.keys({ ...agentEnv, ...env }), writeLine })
  if (loaded && end.kind === "exited" && end.code === 0) return loaded
  const isTime = end.kind === "timed out" || end.kind === "silent"
  const code = isTime ? "load_timeout" : codeFor(end, "graph_load_failed")
  throw new BuildFailed(code, `loading the graphs ${wordsFor(end, limits)}`)
}

const withVariables = fileURLToPath(import.meta.resolve("@superstep/builder/variables-main"))

/** Variables of the build itself take precedence. @returns  the file, which only the step's user may read */
async function writeVariables(
  { home, environment, user }: BuildRequest,
  agentEnv: Readonly<Record<string, string>>,
): Promise<string> {
  const own = Object.entries(agentEnv).filter(([name]) => environment[name] === undefined)
  // A random name: the step's user may have placed something at any name that it can guess.
  const file = join(home, `${randomUUID()}.json`)
  const secrets = secretsOf(Object.fromEntries(own))
  await writeSettingsFile(file, secrets, user ?? undefined)
  return file
}

/** Logs the source lines of graphs that failed to load; the messages are in the error at the end of the build's log. */
function loadFailed(
  { failed }: Verification,
  { tree, given, writeLine }: { tree: string; given: readonly string[] } & Pick<BuildInput, "writeLine">,
): BuildFailed {
  const problems = loadProblems(failed.map(toLoadFailure))
  for (const { codeFrame } of problems) {
    for (const line of codeFrame?.split("\n") ?? []) writeLine(line, "ERROR")
  }
  const words = inProject(problems.map(loadSentence).join("; "), tree)
  const messages = failed.map(({ message }) => message)
  const { code, message } = loadFailure(messages, words, given)
  return new BuildFailed(code, message)
}

const toLoadFailure = ({ graph_id, message, code_frame }: Verification["failed"][number]): LoadFailure => ({
  id: graph_id,
  message,
  codeFrame: code_frame,
})

/** Shows paths as the author knows them: relative to the project, not below the build's folder. */
const inProject = (message: string, tree: string): string => message.replaceAll(`${tree}/`, "")
