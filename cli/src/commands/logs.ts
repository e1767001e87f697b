/** `superstep logs`: the output of builds and agent servers, and with `-f` new output. */
import { pause } from "@superstep/toolkit/exec/pause"
import { InvalidArgumentError, Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import { parseCount } from "../command-line/options.js"
import { formatLogLine } from "../output/log-lines.js"
import type { Output } from "../output/output.js"
import { isAway, type PlatformApi, platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import type { LogLine } from "../platform/deploy-report.js"
import { type Deployment, findDeployment } from "../platform/deployments.js"
import { listenForStop } from "../processes/stop-signals.js"

interface LogOptions extends ConnectionOptions {
  readonly follow?: boolean
  readonly type: "build" | "deploy"
  readonly revision?: string
  readonly level?: string
  readonly query?: string
  readonly run?: string
  readonly since?: string
  readonly limit: number
}

const levels = ["debug", "info", "warning", "error", "critical"]

/** @returns  as the API spells it  @throws InvalidArgumentError */
function parseLevel(text: string): string {
  if (levels.includes(text.toLowerCase())) return text.toUpperCase()
  throw new InvalidArgumentError(`expected one of ${levels.join(", ")}.`)
}

export const logs: CliCommand<LogOptions> = {
  words: "logs <deployment>",
  summary: "show the log of a deployment's agent servers or builds",
  options: [
    new Option("-f, --follow", "also show new lines until Ctrl-C"),
    new Option("--type <type>", "log of the agent servers or of builds").choices(["deploy", "build"]).default("deploy"),
    new Option("--revision <id>", "only of this revision (with build: default the latest)"),
    new Option("--level <level>", `only this level: ${levels.join(", ")}`).argParser(parseLevel),
    new Option("-q, --query <text>", "only lines that contain this text"),
    new Option("--run <id>", "only lines of this run"),
    new Option("--since <time>", "only lines since this ISO time"),
    new Option("--limit <n>", "number of lines, the newest ones").argParser(parseCount).default(100),
    ...connectionOptions(),
  ],
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const deployment = await findDeployment(api, args[0] ?? "")
    const show = (line: LogLine) => out.line(options.json ? JSON.stringify(line) : readable(line, out))
    const revisionId = options.revision ?? (options.type === "build" ? deployment.latest_revision_id : null)
    const last = await readLast(api, deployment, revisionId, options)
    for (const line of last) show(line)
    if (!options.follow) return
    await followLog(api, { deployment, revisionId, options, lastEventId: last.at(-1)?.id, show })
  },
}

/** Lines of our own processes are JSON; all others are shown as they were printed. */
function readable({ timestamp, level, message, run_id: runId }: LogLine, out: Output): string {
  const text = formatLogLine(message, out.style)
  if (text !== message) return text
  const head = out.style("dim", timestamp.slice(11, 19))
  const name = level === "ERROR" || level === "CRITICAL" ? out.style("red", level) : out.style("dim", level)
  const run = runId ? [out.style("dim", `run_id=${runId}`)] : []
  // Text of a graph must not look like a line of another program.
  const [first = "", ...more] = message.split("\n")
  return [[head, name, first, ...run].join("  "), ...more.map((line) => `    ${line}`)].join("\n")
}

async function readLast(
  api: PlatformApi,
  { id }: Deployment,
  revisionId: string | null,
  { type, limit, level, query, run, since }: LogOptions,
): Promise<LogLine[]> {
  const place =
    revisionId === null ? `/v1/projects/${id}/deploy_logs` : `/v1/projects/${id}/revisions/${revisionId}/${type}_logs`
  const filter = { level, query, run_id: run, start_time: since }
  const all: LogLine[] = []
  for (let offset: string | null = null; all.length < limit; ) {
    const most = Math.min(1000, limit - all.length)
    const body: object = { order: "desc", limit: most, offset, ...filter }
    const page: { logs: LogLine[]; next_offset: string | null } = await api.send("POST", place, { body })
    all.push(...page.logs)
    if (page.logs.length < most || page.next_offset === null) break
    offset = page.next_offset
  }
  return all.reverse()
}

interface Followed {
  readonly deployment: Deployment
  readonly revisionId: string | null
  readonly options: LogOptions
  readonly lastEventId: string | undefined
  readonly show: (line: LogLine) => void
}

const reconnectMs = 1000

/** Runs until Ctrl-C. After a restart of the platform it continues after the last line. */
async function followLog(
  api: PlatformApi,
  { deployment, revisionId, options, show, ...begin }: Followed,
): Promise<void> {
  const stop = listenForStop()
  const { type, level, query, run } = options
  const given = Object.entries({ type, level, query, run_id: run }).filter(([, value]) => value !== undefined)
  const place =
    revisionId === null
      ? `/v2/deployments/${deployment.id}`
      : `/v2/deployments/${deployment.id}/revisions/${revisionId}`
  const path = `${place}/logs/stream?${new URLSearchParams(given as [string, string][])}`
  let lastEventId = begin.lastEventId
  try {
    while (!stop.first.aborted) {
      try {
        for await (const event of api.events(path, { lastEventId, signal: stop.first })) {
          if (event.id !== undefined) lastEventId = event.id
          if (event.event === undefined || event.event === "log") show(JSON.parse(event.data) as LogLine)
        }
      } catch (error) {
        if (stop.first.aborted) return
        if (!isBroken(error)) throw error
      }
      await pause(reconnectMs, stop.first)
    }
  } finally {
    stop.release()
  }
}

/** The connection was lost, or cannot be made yet. */
const isBroken = (error: unknown): boolean => isAway(error) || error instanceof TypeError
