/** `superstep up`, which `npm start` runs: the whole installation in the foreground. */
import { openDatabase } from "@superstep/toolkit/db/database"
import { Option } from "commander"
import type { CliCommand, Context } from "../command.js"
import { ensureExample, untilAgentAnswers } from "../first-start/example-deployment.js"
import { ensureCredentials } from "../first-start/first-credentials.js"
import { showInstallation, showPostgresRestart, showRestart, showTryIt } from "../first-start/greeting.js"
import { showRevision } from "../first-start/show-revision.js"
import { agentsOf } from "../home/agents.js"
import { controlDatabaseName } from "../home/control-database.js"
import { startControl, untilControlReady } from "../home/control-process.js"
import type { Credentials } from "../home/credentials.js"
import { startHomeDatabase } from "../home/database.js"
import { type Home, openHome } from "../home/home.js"
import { type Ownership, takeOwnership } from "../home/owner.js"
import { homeOption, hostOption, portOption } from "../options.js"
import { withProgress } from "../output/progress.js"
import { platformApi } from "../platform/api.js"
import { urlOf } from "../processes/address.js"
import { createParts, type Parts } from "../processes/parts.js"
import { assertPortFree } from "../processes/ports.js"
import { listenForStop, type StopSignals } from "../processes/stop-signals.js"

interface UpOptions {
  readonly home?: string
  readonly port: number
  readonly agentsPort: number
  readonly host: string
  readonly example: boolean
}

export const up: CliCommand<UpOptions> = {
  words: "up",
  summary: "start the control plane, the agents and Postgres",
  options: [
    homeOption(),
    portOption("-p, --port <port>", "port of the control plane", 8900),
    portOption("--agents-port <port>", "port that agents are reached at", 8901),
    hostOption(),
    new Option("--no-example", "do not deploy the example on the first start"),
  ],
  async run({ options, ...context }) {
    const home = await openHome(options.home ?? context.config.home)
    await using ownership = await takeOwnership(home, "superstep up")
    const stop = listenForStop()
    const parts = createParts()
    stop.onSecond(() => parts.kill())
    const startup = bringUp({ options, context, home, ownership, parts, stop })
    try {
      await Promise.race([startup, stop.requested])
      await stop.requested
      context.err.line(context.err.style("dim", "\n  stopping …"))
    } finally {
      await parts.stop()
      if (stop.first.aborted) context.err.line(context.err.style("dim", "  stopped"))
      // What was half started when the stop came found its part stopped; that is no news.
      if (stop.first.aborted) await startup.catch(() => undefined)
      stop.release()
    }
  },
}

interface Start {
  readonly options: UpOptions
  readonly context: Context
  readonly home: Home
  readonly ownership: Ownership
  readonly parts: Parts
  readonly stop: StopSignals
}

// The control plane ends its agents in order: SUPERSTEP_STOP_GRACE (30 s) for units that have runs, and the edge's own.
const controlStopMs = 90_000
// What the control plane left, because it was not there to end it, has had its chance.
const agentsStopMs = 5000

async function bringUp(start: Start): Promise<void> {
  const { options, context, home, ownership, parts, stop } = start
  const startedAt = performance.now()
  const agents = agentsOf(home)
  await assertPortFree({ ...options, option: "--port" })
  if (!(await agents.edgeRuns()))
    await assertPortFree({ ...options, port: options.agentsPort, option: "--agents-port" })
  const database = await withProgress(context.err, "starting Postgres", () =>
    startHomeDatabase({
      home,
      config: context.config,
      name: controlDatabaseName,
      onEnd: () => showPostgresRestart(context.err),
    }),
  )
  await parts.add({ name: "Postgres", stop: () => database.stop(), kill: () => database.kill() })
  const killAgents = () =>
    void agents.stop(0).catch((err: unknown) => home.log.error({ err }, "agents cannot be ended"))
  await parts.add({ name: "agents", stop: () => agents.stop(agentsStopMs), kill: killAgents })
  let isReady = false
  const control = await startControl({
    ...options,
    home,
    ownership,
    config: context.config,
    databaseUri: database.uri,
    // An end before it was ready ends the whole start, with its reason.
    onEnd: (exit, delayMs) => {
      if (isReady) showRestart(context.err, exit, delayMs)
    },
  })
  await parts.add({ name: "control plane", stop: () => control.stop(controlStopMs), kill: () => control.kill() })
  const url = urlOf(options.host, options.port)
  isReady = await withProgress(context.err, "starting the control plane", () =>
    untilControlReady({ home, control, url, stop: stop.requested }),
  )
  if (!isReady) return
  await withProgress(context.err, "starting the edge", () => agents.untilEdgeRuns(stop.requested))
  await using db = openDatabase({ uri: database.uri, poolSize: 2, log: home.log })
  const publicUrl = context.config.publicUrl ?? url
  const credentials = await ensureCredentials({ db, home, url: publicUrl })
  const agentsUrl = context.config.agentsUrl ?? urlOf(options.host, options.agentsPort)
  showInstallation(context.err, { credentials, home, agentsUrl, ms: performance.now() - startedAt })
  // Asked at the near address: the public one may need a proxy that is not up yet.
  await deployExample(start, { ...credentials, url }, agentsUrl)
}

async function deployExample(
  { options, context, home, stop }: Start,
  credentials: Credentials,
  agentsUrl: string,
): Promise<void> {
  const { err, config } = context
  if (!options.example) return
  const { url: platformUrl, api_key: apiKey, tenant_id: workspaceId } = credentials
  const api = platformApi({ url: platformUrl, apiKey, workspaceId })
  const searchPath = config.environment.PATH ?? ""
  const deployment = await ensureExample({ home, api, searchPath })
  if (!deployment) return
  const revision = await showRevision(err, { api, deployment, signal: stop.first })
  const url = deployment.source_config.custom_url ?? `${agentsUrl}/d/${deployment.name}`
  if (revision?.status !== "DEPLOYED") return
  const target = { url, graph: deployment.name, apiKey: credentials.api_key }
  const answers = await withProgress(err, "starting the example", () => untilAgentAnswers(target, stop.requested))
  if (answers) showTryIt(context, target)
  else if (!stop.first.aborted)
    err.line(`  ${err.style("yellow", "!")} ${url} does not answer yet: its log is in the control plane`)
}
