/** `superstep logs`: what builds and agent servers said, and with `-f` what they say. */
import { pause } from "@superstep/toolkit/exec/pause"
import { Option } from "commander"
import type { CliCommand } from "../command.js"
import { parseCount } from "../options.js"
import type { LogLine } from "../output/deploy-report.js"
import { formatLogLine } from "../output/log-lines.js"
import type { Output } from "../output/output.js"
import { type PlatformApi, PlatformAway, platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
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

export const logs: CliCommand<LogOptions> = {
  words: "logs <deployment>",
  summary: "show what a deployment's agent servers or builds said",
  options: [
    new Option("-f, --follow", "go on with what is said from now on"),
    new Option("--type <type>", "of the agent servers or of the builds").choices(["deploy", "build"]).default("deploy"),
    new Option("--revision <id>", "of this revision only (with build: the latest unless named)"),
    new Option("--level <level>", "of this level only").choices(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]),
    new Option("-q, --query <text>", "lines with this text only"),
    new Option("--run <id>", "lines of this run only"),
    new Option("--since <time>", "not before this ISO time"),
    new Option("--limit <n>", "how many of the last lines").argParser(parseCount).default(100),
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

/** A line of our own processes is JSON; anything else is shown as it was printed. */
function readable({ timestamp, level, message }: LogLine, out: Output): string {
  const text = formatLogLine(message, out.style)
  if (text !== message) return text
  const head = out.style("dim", timestamp.slice(11, 19))
  const name = level === "ERROR" || level === "CRITICAL" ? out.style("red", level) : out.style("dim", level)
  return `${head}  ${name}  ${message}`
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

/** Until Ctrl-C. A platform that restarts is asked again, for what came after the last line. */
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

/** A connection that ended, and not an answer. */
const isBroken = (error: unknown): boolean => error instanceof PlatformAway || error instanceof TypeError
