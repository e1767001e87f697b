/** `superstep check`: whether a project's graphs load and its types are right, and whether paused threads of a deployment could go on with them. */

import { join, resolve } from "node:path"
import { loadProblems, loadSentence } from "@superstep/protocol/unit/load-failures"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Option } from "commander"
import type { CliCommand, Context } from "../command-line/command.js"
import { platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import { findDeployment } from "../platform/deployments.js"
import { type Orphan, orphansAmong, readPausedThreads } from "../platform/paused-threads.js"
import { agentEnvironment } from "../project/agent-server.js"
import { type LoadedGraphs, loadGraphs } from "../project/load-graphs.js"
import { type Project, readProject } from "../project/project.js"
import { readProjectSecrets } from "../project/project-secrets.js"
import { failedPythonGraphs } from "../project/python-graphs.js"
import { typeErrors } from "../project/type-check.js"
import { configOption } from "./dev.js"

interface CheckOptions extends ConnectionOptions {
  readonly config: string
  readonly envFile?: string
  readonly against?: string
}

/** The check was done, and found something. */
export class CheckFailed extends KnownError {
  readonly code = "check_failed"
}

export const check: CliCommand<CheckOptions> = {
  words: "check [folder]",
  summary: "load the graphs of a project (default: in this folder) and check its types, without deploying it",
  options: [
    configOption(),
    new Option("--env-file <file>", "file with variables for the graphs, instead of `env` in langgraph.json"),
    new Option("--against <deployment>", "also say which of its paused threads could not go on with these graphs"),
    ...connectionOptions(),
  ],
  async run({ args: [folder = "."], options, ...context }) {
    const project = await readProject(join(resolve(folder), options.config))
    const loaded = await load(project, options, context)
    const notLoaded = Object.keys(project.pythonGraphs).filter((id) => !loaded.failed.some((it) => it.graph_id === id))
    const wrong = await typeErrors(project.folder, agentEnvironment(context.config.environment))
    const graphs = { graphs: project.graphs, nodes: loaded.nodes }
    const failure = [...failuresOf(loaded), ...typeFailure(wrong)].join("\n")
    const isComparable = options.against !== undefined && failure === ""
    const paused = isComparable ? await compare(options.against, graphs, options, context) : undefined
    const { graphs: names, failed } = loaded
    if (options.json)
      context.out.line(
        JSON.stringify({ graphs: names, failed, not_loaded: notLoaded, type_errors: wrong ?? null, ...paused }),
      )
    if (failure !== "") throw new CheckFailed(failure)
    const { out } = context
    const done = (words: string) => options.json || out.line(`${out.style("green", "✔")} ${words}`)
    if (names.length > 0) done(`loaded: ${names.join(", ")}`)
    if (notLoaded.length > 0 && !options.json)
      out.line(`${out.style("yellow", "!")} not loaded, since they are in Python: ${notLoaded.join(", ")}`)
    if (wrong !== undefined) done("no type errors")
    if (paused === undefined) return
    const words = wordsFor(paused, options.against ?? "")
    if (paused.orphaned > 0) throw new CheckFailed(words)
    done(words)
  },
}

async function load(project: Project, { envFile }: CheckOptions, { config: { environment }, err }: Context) {
  const { folder, env } = project
  const { secrets } = readProjectSecrets({ folder, env, environment }, envFile)
  const own = Object.fromEntries(secrets.map(({ name, value }) => [name, value]))
  const loaded = await loadGraphs(project, {
    env: { ...agentEnvironment(environment), ...own },
    onOutput: (chunk) => err.line(chunk.toString().trimEnd()),
  })
  return { ...loaded, failed: [...loaded.failed, ...(await failedPythonGraphs(project))] }
}

interface Compared {
  /** Number of paused threads that were read: the newest ones, at most 200. */
  readonly checked: number
  readonly orphaned: number
  readonly is_complete: boolean
  readonly orphans: readonly Orphan[]
  /** Graphs whose nodes are not known, since they are in Python or made for a config: their threads count as able to go on. */
  readonly unknown_graphs: readonly string[]
}

async function compare(
  name: string,
  project: Pick<LoadedGraphs, "nodes"> & Pick<Project, "graphs">,
  options: CheckOptions,
  { config }: Context,
): Promise<Compared> {
  const connection = await connect(options, config)
  const { source_config: found } = await findDeployment(platformApi(connection), name)
  if (found.custom_url === null) throw new CheckFailed(`${name} has no address yet`)
  const { threads, isComplete } = await readPausedThreads(found.custom_url, connection.apiKey)
  const orphans = orphansAmong(threads, project)
  return {
    checked: threads.length,
    orphaned: orphans.length,
    is_complete: isComplete,
    orphans,
    unknown_graphs: project.graphs.filter((graph) => project.nodes[graph] === undefined),
  }
}

const failuresOf = ({ failed }: LoadedGraphs): string[] =>
  loadProblems(failed.map(({ graph_id: id, message, code_frame: codeFrame }) => ({ id, message, codeFrame }))).map(
    (problem) => [loadSentence(problem), ...(problem.codeFrame ? [problem.codeFrame] : [])].join("\n"),
  )

/** @param wrong  the compiler's lines */
const typeFailure = (wrong: readonly string[] = []): string[] =>
  wrong.length === 0 ? [] : [`the compiler found type errors:\n${wrong.map((line) => `  ${line}`).join("\n")}`]

const shown = 5

/** Pure. */
function wordsFor(
  { checked, orphaned, is_complete: isComplete, orphans, unknown_graphs: unknown }: Compared,
  name: string,
): string {
  const of = isComplete ? `${checked}` : `the ${checked} newest`
  const besides = unknown.length > 0 ? `; the nodes of ${unknown.join(", ")} are not known` : ""
  if (checked === 0) return `${name} has no paused threads${besides}`
  if (orphaned === 0) return `${checked} of ${of} paused threads of ${name} can go on with these graphs${besides}`
  const examples = orphans.slice(0, shown).map(({ thread_id, reason }) => `${thread_id} (${reason})`)
  const more = orphaned > shown ? ", …" : ""
  return `${orphaned} of ${of} paused threads of ${name} could not go on with these graphs: ${examples.join(", ")}${more}${besides}`
}
