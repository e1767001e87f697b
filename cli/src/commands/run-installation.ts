/** The installation of one `superstep up`: starts it part by part, and ends it in one of three ways. */
import { join } from "node:path"
import { openDatabase } from "@superstep/toolkit/db/database"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { isAlive } from "@superstep/toolkit/exec/process-identity"
import { makeBackup } from "../backups/make.js"
import { startScheduledBackups } from "../backups/schedule.js"
import type { Context } from "../command-line/command.js"
import { consoleAddress } from "../first-start/console-address.js"
import { ensureExample, untilAgentAnswers } from "../first-start/example-deployment.js"
import { requireGit } from "../first-start/example-repository.js"
import { ensureCredentials } from "../first-start/first-credentials.js"
import { streamsToken } from "../first-start/first-token.js"
import {
  showFirstToken,
  showInstallation,
  showPostgresRestart,
  showRestart,
  showTryIt,
} from "../first-start/greeting.js"
import { showRevision } from "../first-start/show-revision.js"
import { agentsOf } from "../home/agents.js"
import { controlDatabaseName } from "../home/control-database.js"
import { startControl, untilControlReady } from "../home/control-process.js"
import type { Credentials } from "../home/credentials.js"
import { startHomeDatabase } from "../home/database.js"
import type { Home } from "../home/home.js"
import type { Ownership } from "../home/owner.js"
import { livingEntry, type Place, type Program } from "../home/owner-file.js"
import { registerInstallation } from "../home/running-installations.js"
import { successorOf, takeOverSignal } from "../home/take-over.js"
import { withProgress } from "../output/progress.js"
import { platformApi } from "../platform/api.js"
import { renewPrograms } from "../platform/replaced-programs.js"
import { urlOf } from "../processes/address.js"
import { createParts, type Part, type Parts } from "../processes/parts.js"
import { assertPortFree } from "../processes/ports.js"
import { listenForStop, type StopSignals } from "../processes/stop-signals.js"
import { newerNodeOfBuilds } from "../project/agent-node.js"

export interface InstallationOptions {
  readonly context: Context
  readonly home: Home
  readonly ownership: Ownership
  readonly place: Place
  /** Whether a first start deploys the example. */
  readonly example: boolean
  /** When `npm start` began, in milliseconds since 1970; undefined where the command was started directly. */
  readonly npmStartAt?: number | undefined
  /** The program that it was taken over from. */
  readonly former?: Program | undefined
}

/** `stop`: nothing keeps running. `leave`: only the control plane stops. `handed over`: the same, for a program that takes over. */
export type End = "stop" | "leave" | "handed over"

/**
 * Runs until a signal arrives. If a part fails to start, the parts started before it are stopped; agents that ran before keep running.
 * @throws KnownError  a part cannot be started
 */
export async function runInstallation(options: InstallationOptions): Promise<End> {
  const { home, context } = options
  const { err } = context
  const stop = listenForStop()
  const askedFor = () => void successorOf(home).then((successor) => successor && stop.ask(takeOverSignal))
  process.on(takeOverSignal, askedFor)
  const parts = createParts()
  let end: End = (await agentsOf(home, context.config.environment).anyRuns()) ? "leave" : "stop"
  stop.onSecond(() => end === "stop" && parts.kill())
  const startup = startParts({ ...options, parts, stop })
  try {
    await Promise.race([startup, stop.requested])
    const signal = await stop.requested
    end = (await isTakeOverPending(options)) ? "leave" : endFor(signal, context.config.stopAllOnExit)
    const successor = await successorOf(home)
    err.line(
      err.style("dim", `\n  ${end === "handed over" && successor ? `${nameOf(successor)} takes over` : "stopping"} …`),
    )
  } finally {
    const stopAnnouncing = end === "stop" ? announceWait(options) : undefined
    await (end === "stop" ? parts.stop() : parts.leave())
    stopAnnouncing?.()
    if (end === "leave") err.line(`  ${await left(options)}`)
    else if (end === "stop" && stop.first.aborted) err.line(err.style("dim", "  stopped"))
    // A start that was interrupted by the stop fails because its parts were stopped; that error is expected.
    if (stop.first.aborted) await startup.catch(() => undefined)
    process.off(takeOverSignal, askedFor)
    stop.release()
  }
  return end
}

// Without runs a stop takes about a second.
const quietMs = 1500

/** Prints once what a long stop waits for. @returns  a function that ends this */
function announceWait({ home, context: { err, config } }: InstallationOptions): () => void {
  const print = (agents: number) => {
    const who = agents === 1 ? "an agent server finishes its runs" : `${agents} agent servers finish their runs`
    if (agents > 0) err.line(err.style("dim", `  waiting until ${who}; press Ctrl-C again to stop everything now`))
  }
  const look = async () => print((await agentsOf(home, config.environment).running()).length)
  const failed = (error: unknown) => home.log.error({ err: error }, "the running agents could not be listed")
  const timer = setTimeout(() => void look().catch(failed), quietMs)
  return () => clearTimeout(timer)
}

/** The former program waits to get the installation back, with everything that runs, until this one is up (take-over.ts, H3). */
async function isTakeOverPending({ former, home }: InstallationOptions): Promise<boolean> {
  return former !== undefined && !(await livingEntry(home.owner))?.isUp && (await isAlive(former.owner))
}

async function left({ former }: InstallationOptions): Promise<string> {
  if (former && (await isAlive(former.owner))) return `agents keep running, and ${nameOf(former)} supervises them again`
  return "agents keep running unsupervised: start superstep up to supervise them"
}

/** Pure. Ctrl-C and a closed terminal come from a person, SIGTERM possibly from a service manager. */
function endFor(signal: NodeJS.Signals, stopAllOnExit: boolean): End {
  if (signal === takeOverSignal) return "handed over"
  return signal === "SIGTERM" && !stopAllOnExit ? "leave" : "stop"
}

/** Describes a program so that a person can find it. */
export const nameOf = ({ owner, release }: Program): string => `process ${owner.pid} (Superstep ${release ?? "?"})`

type Start = InstallationOptions & { readonly parts: Parts; readonly stop: StopSignals }

// The control plane stops its agents in order: SUPERSTEP_STOP_GRACE (30 s) for units with runs, and the edge's own grace period.
const controlStopMs = 90_000
// The successor waits for it, and the API is down; the next control plane continues its work.
const controlLeaveMs = 10_000
// For processes that the control plane left because it was killed before it could stop them.
const agentsStopMs = 5000

async function startParts(start: Start): Promise<void> {
  const { context, home, ownership, parts, place, stop } = start
  const startedAt = performance.now()
  const agents = agentsOf(home, context.config.environment)
  if (start.former === undefined && (await agents.anyRuns()))
    context.err.line("  agents kept running after the last superstep up; this one supervises them again")
  if (start.example) await requireGit(home.folder, context.config.environment.PATH ?? "")
  await assertPortFree({ ...place, option: "--port" })
  if (!(await agents.edgeRuns())) await assertPortFree({ ...place, port: place.agentsPort, option: "--agents-port" })
  const database = await withProgress(context.err, "starting Postgres", () =>
    startHomeDatabase({
      home,
      config: context.config,
      name: controlDatabaseName,
      onEnd: () => showPostgresRestart(context.err),
    }),
  )
  await parts.add({
    name: "Postgres",
    stop: () => database.stop(),
    leave: () => database.leave(),
    kill: () => database.kill(),
  })
  // The embedded Postgres has no control plane on another computer.
  const mayHaveOthers = context.config.databaseUri !== undefined
  const killAgents = () =>
    void agents
      .stop({ graceMs: 0, mayHaveOthers })
      .catch((err: unknown) => home.log.error({ err }, "agents could not be killed"))
  await parts.add({
    name: "agents",
    stop: () => agents.stop({ graceMs: agentsStopMs, mayHaveOthers }),
    leave: async () => undefined,
    kill: killAgents,
  })
  let isReady = false
  const control = await startControl({
    ...place,
    home,
    ownership,
    config: context.config,
    databaseUri: database.uri,
    // An exit before it was ready fails the whole start, with its reason.
    onEnd: (exit, delayMs) => {
      if (isReady) showRestart(context.err, exit, delayMs)
    },
  })
  await parts.add({
    name: "control plane",
    stop: () => control.stop(controlStopMs),
    leave: () => control.stop(controlLeaveMs, takeOverSignal),
    kill: () => control.kill(),
  })
  const url = urlOf(place.host, place.port)
  isReady = await withProgress(context.err, "starting the control plane", () =>
    untilControlReady({ home, control, url, stop: stop.requested }),
  )
  if (!isReady) return
  await using db = openDatabase({ uri: database.uri, poolSize: 2, log: home.log })
  const { tlsCert, publicUrl, agentsUrl: toldAgentsUrl } = context.config
  const scheme = tlsCert === undefined ? "http" : "https"
  const credentials = await ensureCredentials({ db, home, url: publicUrl ?? urlOf(place.host, place.port, scheme) })
  const nearAgents = urlOf(place.host, place.agentsPort, scheme)
  const agentsUrl = toldAgentsUrl ?? nearAgents
  if (stop.first.aborted) return
  await parts.add(await scheduledBackups(start, database.uri))
  await ownership.noteUp()
  const unregistered = (err: unknown) =>
    home.log.warn({ err }, "other folders do not find this installation: give them --home")
  await registerInstallation(home, context.config.environment).catch(unregistered)
  const consoleUrl = await consoleAddress(db, credentials, context.err)
  const agentsNode = await newerNodeOfBuilds({ home, environment: context.config.environment })
  const ms = performance.now() - startedAt
  showInstallation(context.err, { credentials, home, consoleUrl, agentsUrl, agentsNode, ms, release: context.release })
  // Uses local addresses: the public ones may need a proxy that is not up yet, or a certificate that we cannot verify. The API
  // answers plain HTTP to this machine, whatever it speaks to others.
  const warn = (words: string) => context.err.line(`  ${context.err.style("yellow", "!")} ${words}`)
  const { environment } = context.config
  await renewPrograms({ home, environment, db, url, apiKey: credentials.org_api_key, signal: stop.first, warn })
  await deployExample(start, { ...credentials, url }, { agentsUrl, nearAgents }).catch((error: unknown) => {
    // The installation's own key may be revoked, or the control plane be restarted meanwhile: everything else runs.
    if (!(error instanceof KnownError)) throw error
    warn(`the example is not shown: ${error.message}`)
  })
}

/** A stop ends a backup under way, whose leftovers are removed; the next start makes it again. */
async function scheduledBackups({ context, home }: Start, databaseUri: string): Promise<Part> {
  const { config, err } = context
  const { backupSchedule: schedule, backupFolder: folder = join(home.folder, "backups"), backupKeep: keep } = config
  const backups = await startScheduledBackups({
    home,
    databaseUri,
    plan: schedule === undefined ? undefined : { schedule, folder, keep },
    make: (file, signal) => makeBackup({ home, config }, file, signal),
    tell: (words) => err.line(`  ${err.style("yellow", "!")} ${words}`),
  })
  return { name: "backups", stop: () => backups.stop(), kill: () => undefined }
}

async function deployExample(
  { example, context, home, stop, npmStartAt }: Start,
  credentials: Credentials,
  { agentsUrl, nearAgents }: { readonly agentsUrl: string; readonly nearAgents: string },
): Promise<void> {
  const { err, config } = context
  if (!example) return
  const { url: platformUrl, api_key: apiKey, tenant_id: workspaceId } = credentials
  const api = platformApi({ url: platformUrl, apiKey, workspaceId })
  const searchPath = config.environment.PATH ?? ""
  const began =
    npmStartAt === undefined
      ? { at: Date.now(), event: "its deployment began" }
      : { at: npmStartAt, event: "npm start" }
  const found = await ensureExample({ home, api, searchPath })
  if (!found) return
  const { deployment, isNew } = found
  const revision = await showRevision(err, { api, deployment, signal: stop.first })
  const url = deployment.source_config.custom_url ?? `${agentsUrl}/d/${deployment.name}`
  if (revision?.status !== "DEPLOYED") return
  const target = { url, graph: deployment.name, apiKey: credentials.api_key }
  const near = { ...target, url: `${nearAgents}${url.slice(url.lastIndexOf("/d/"))}` }
  const answers = await withProgress(
    err,
    "starting the example",
    async () => (await untilAgentAnswers(near, stop.requested)) && (!isNew || (await streamsToken(near, stop.first))),
  )
  if (answers && isNew) showFirstToken(err, began)
  if (answers) showTryIt(context, target)
  else if (!stop.first.aborted)
    err.line(`  ${err.style("yellow", "!")} ${url} does not answer yet: see its log with superstep logs`)
}
