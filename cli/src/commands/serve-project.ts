/** `dev` and `serve`: one agent server for a project folder, in the foreground, by default with its own Postgres. */
import { resolve } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Context } from "../command-line/command.js"
import { startHomeDatabase } from "../home/database.js"
import { type Home, openHome } from "../home/home.js"
import { type Ownership, takeOwnership } from "../home/owner.js"
import { serverIdOf } from "../home/server-id.js"
import { formatLogLine } from "../output/log-lines.js"
import { nearPath } from "../output/near-path.js"
import { withProgress } from "../output/progress.js"
import { curlCommand, exampleKey, indented } from "../output/try-it.js"
import { urlOf } from "../processes/address.js"
import { type Child, startChild } from "../processes/child.js"
import { createParts, type Parts } from "../processes/parts.js"
import { assertPortFree } from "../processes/ports.js"
import { listenForStop, type StopSignals } from "../processes/stop-signals.js"
import { answers, untilAnswers } from "../processes/until-answers.js"
import { agentNode } from "../project/agent-node.js"
import { type AgentServerOptions, serverEnvironment, serverScript } from "../project/agent-server.js"
import { type Project, readProject } from "../project/project.js"

export interface ServeOptions extends AgentServerOptions {
  readonly config: string
  readonly home?: string
}

export class ServerFailed extends KnownError {
  readonly code = "server_failed"
}

// The server's own limit (BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS, at most an hour) comes first; this one is for a server that hangs.
const stopMs = 3_700_000

/**
 * Runs until a signal arrives or the server exits.
 * @throws ServerFailed  when the server exited unexpectedly
 */
export async function serveProject(options: ServeOptions, context: Context): Promise<void> {
  const project = await readProject(options.config)
  const home = await openHome(options.home ?? resolve(project.folder, context.config.home))
  await using ownership = await takeOwnership(home, `superstep ${options.isDev ? "dev" : "serve"}`)
  const stop = listenForStop()
  const parts = createParts()
  stop.onSecond(() => parts.kill())
  const startup = startParts({ project, options, context, home, ownership, parts, stop })
  try {
    const child = await Promise.race([startup, stop.requested.then(() => undefined)])
    const exit = child && (await Promise.race([child.exited, stop.requested.then(() => undefined)]))
    if (exit) throw new ServerFailed(`the server ${exit.words}`)
  } finally {
    await parts.stop()
    // The parts have already stopped what an interrupted start left half started.
    if (stop.first.aborted) await startup.catch(() => undefined)
    stop.release()
  }
}

interface Start {
  readonly project: Project
  readonly options: ServeOptions
  readonly context: Context
  readonly home: Home
  readonly ownership: Ownership
  readonly parts: Parts
  readonly stop: StopSignals
}

async function startParts({ project, options, context, home, ownership, parts, stop }: Start): Promise<Child> {
  const startedAt = performance.now()
  await assertPortFree({ ...options, option: "--port" })
  const { environment } = context.config
  const starting = withProgress(context.err, "starting Postgres", () =>
    startHomeDatabase({ home, config: context.config, name: "superstep", stopWithParent: true }),
  )
  // Looks for other Nodes while Postgres starts.
  const choosing = agentNode(project, { home, environment })
  // It is awaited below, where its error is thrown, unless Postgres fails before.
  choosing.catch(() => undefined)
  const failed = new AbortController()
  const signal = AbortSignal.any([stop.first, failed.signal])
  // Both take seconds, and neither needs the other.
  const installing = options.isDev ? installPackages({ project, context, signal, after: starting }) : undefined
  installing?.catch(() => undefined)
  const database = await starting.catch(async (error) => {
    failed.abort()
    await installing?.catch(() => undefined)
    throw error
  })
  await parts.add({ name: "Postgres", stop: () => database.stop(), kill: () => database.kill() })
  await installing
  const serverId = await serverIdOf(home)
  const { node, note: nodeNote } = await choosing
  const child = await startChild({
    script: serverScript(),
    node: node.path,
    cwd: project.folder,
    env: serverEnvironment(project, options, { databaseUri: database.uri, serverId, environment }),
    onLine: printer(options, context),
    note: (identity) => ownership.noteChild(identity),
  })
  await parts.add({ name: "agent server", stop: () => child.stop(stopMs), kill: () => child.kill() })
  const url = urlOf(options.host, options.port)
  const gaveUp = Promise.race([child.exited, stop.requested])
  const isUp = await withProgress(context.err, "starting the agent server", () =>
    untilAnswers({ url: `${url}/ok` }, gaveUp),
  )
  if (isUp)
    greet({
      url,
      isDev: options.isDev,
      project,
      context,
      data: `${nearPath(home.folder)} (${database.words})`,
      nodeNote,
      ms: performance.now() - startedAt,
    })
  return child
}

interface Installing {
  readonly project: Project
  readonly context: Context
  /** Ends the installation. */
  readonly signal: AbortSignal
  /** Its progress has the terminal until then. */
  readonly after: Promise<unknown>
}

async function installPackages({ project, context: { config, err }, signal, after }: Installing): Promise<void> {
  // Loaded here: most projects need none of it.
  const { preparePython } = await import("../project/python-environment.js")
  const { environment } = config
  await preparePython(project, {
    environment,
    signal,
    whileInstalling: async (words, work) => {
      const installed = work()
      installed.catch(() => undefined)
      await after
      return withProgress(err, words, () => installed)
    },
  })
}

/** When `serve` writes to a file or a collector, the JSON lines stay unchanged. */
function printer({ isDev }: ServeOptions, { out }: Context): (line: string) => void {
  if (!isDev && !out.isTerminal) return (line) => out.line(line)
  return (line) => out.line(formatLogLine(line, out.style))
}

interface Greeting {
  readonly url: string
  readonly isDev: boolean
  readonly project: Project
  readonly context: Context
  readonly data: string
  readonly nodeNote: string | undefined
  readonly ms: number
}

async function greet({ url, isDev, project, context: { err, config }, data, nodeNote, ms }: Greeting): Promise<void> {
  const label = (text: string) => err.style("dim", text.padEnd(7))
  const apiKey = exampleKey(config.environment.SUPERSTEP_API_KEYS, err.isTerminal)
  const curl = curlCommand({ url, graph: project.graphs[0] ?? "", ...(apiKey !== undefined && { apiKey }) })
  err.line()
  err.line(`  ${label("API")}${err.style("bold", url)}${err.style("dim", `   ready in ${Math.round(ms)} ms`)}`)
  if (isDev) err.line(`  ${label("Studio")}${url}/studio`)
  if (await answers({ url: `${url}/docs` })) err.line(`  ${label("Docs")}${url}/docs`)
  err.line(`  ${label("Data")}${data}`)
  if (nodeNote !== undefined) err.line(`  ${label("Node")}${err.style("dim", nodeNote)}`)
  err.line(`  ${label("Try")}${indented(curl, "         ").trimStart()}`)
  err.line()
}
