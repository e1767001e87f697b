/** `superstep import`: brings assistants, threads, crons and store items from an old agent server to a new one. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { InvalidArgumentError, Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import type { Config } from "../command-line/config.js"
import { parseCount } from "../command-line/options.js"
import { type AgentApi, AgentAway, AgentRefused, agentApi } from "../import/agent-api.js"
import { countThreads, threadIds } from "../import/all-threads.js"
import { importAssistant, ownAssistants } from "../import/assistants.js"
import { cronsOf, importCron, shownCron } from "../import/crons.js"
import { importItem, itemsOf, shownItem } from "../import/store-items.js"
import { importThread, noGraphs, type Outcome } from "../import/threads.js"
import type { Output } from "../output/output.js"
import { showProgress } from "../output/progress-bar.js"
import { platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import { findDeployment } from "../platform/deployments.js"
import { listenForStop } from "../processes/stop-signals.js"

interface ImportOptions extends ConnectionOptions {
  readonly from: string
  readonly only: readonly Part[]
  readonly replace?: boolean
  readonly enableCrons?: boolean
  readonly checkpoints: number
  readonly concurrency: number
}

/** In this order: a thread refers to its assistant, a cron to both. */
const parts = ["assistants", "threads", "crons", "store"] as const
type Part = (typeof parts)[number]

export class NotAllImported extends KnownError {
  readonly code = "not_all_imported"
}

export const importCommand: CliCommand<ImportOptions> = {
  words: "import <deployment>",
  summary:
    "bring assistants, threads, crons and store items from another agent server to a deployment (its name, or its address)",
  options: [
    new Option("--from <address>", "address of the other agent server").makeOptionMandatory(),
    new Option("--only <parts>", `only some of ${parts.join(",")}`)
      .argParser(parseParts)
      .default([...parts], parts.join(",")),
    new Option(
      "--replace",
      "import again what the new server has with another state and did not run, and store items that differ",
    ),
    new Option(
      "--enable-crons",
      "let crons fire on the new server; without it they are paused, since the other server fires them too",
    ),
    new Option("--checkpoints <n>", "most checkpoints of a thread, the newest ones").argParser(parseCount).default(200),
    new Option("--concurrency <n>", "threads at a time").argParser(parseCount).default(4),
    ...connectionOptions(),
  ],
  async run({ args, options, config, out, err }) {
    const stop = listenForStop()
    const hurry = new AbortController()
    stop.onSecond(() => hurry.abort(new NotAllImported("stopped: the same command goes on where it was")))
    try {
      const from = agentApi({
        url: options.from,
        option: "--from",
        headers: headersOfSource(config),
        signal: hurry.signal,
      })
      const to = await target(args[0] ?? "", options, config, hurry.signal)
      const tallies = await importParts({ from, to, options, err, stopping: stop.first })
      if (options.json) out.line(JSON.stringify(Object.fromEntries(tallies.map((it) => [it.part, it.counts]))))
      else for (const { part, counts } of tallies) out.line(summary(part, counts))
      const crons = tallies.find(({ part }) => part === "crons")?.counts
      if (crons && crons.imported > 0 && !options.enableCrons)
        err.line(
          "  Crons are paused on the new server. When the old one fires them no more, start them: --only crons --enable-crons",
        )
      if (stop.first.aborted) throw new NotAllImported("stopped: the same command goes on where it was")
      const left = tallies.reduce((sum, { counts }) => sum + counts.failed + counts.differs + counts.skipped, 0)
      if (left > 0)
        throw new NotAllImported(`${left} are not on the new server as they are on the old one: they are named above`)
    } finally {
      stop.release()
    }
  },
}

function parseParts(text: string): Part[] {
  const named = text.split(",").map((part) => part.trim())
  const unknown = named.find((part) => !(parts as readonly string[]).includes(part))
  if (unknown !== undefined) throw new InvalidArgumentError(`expected ${parts.join(", ")}, separated by commas.`)
  return parts.filter((part) => named.includes(part))
}

// Of the vendor's server, the second is what its Studio sends: whoever has the key is no user of the project.
const headersOfSource = ({ fromApiKey, fromAuthorization }: Config) => ({
  ...(fromApiKey && { "x-api-key": fromApiKey.reveal() }),
  ...(fromAuthorization ? { authorization: fromAuthorization.reveal() } : { "x-auth-scheme": "langsmith" }),
})

/** The agent that is written to: a deployment of the platform, or any address. */
async function target(place: string, options: ImportOptions, config: Config, signal: AbortSignal): Promise<AgentApi> {
  const { toAuthorization, apiKey } = config
  const user = toAuthorization ? { authorization: toAuthorization.reveal() } : { "x-auth-scheme": "langsmith" }
  const option = "<deployment>"
  if (/^https?:\/\//.test(place))
    return agentApi({
      url: place,
      option,
      headers: { ...(apiKey && { "x-api-key": apiKey.reveal() }), ...user },
      signal,
    })
  const connection = await connect(options, config)
  const { name, source_config, active_revision_id } = await findDeployment(platformApi(connection), place)
  const url = source_config.custom_url
  if (url === null || active_revision_id === null)
    throw new NotAllImported(
      `${name} has no address yet: deploy its agent first, which makes the states of its threads`,
    )
  return agentApi({ url, option, headers: { "x-api-key": connection.apiKey, ...user }, signal })
}

interface Counts {
  imported: number
  /** They were there already, as they are. */
  there: number
  skipped: number
  differs: number
  failed: number
  /** Of threads. */
  checkpoints: number
}

interface Tally {
  readonly part: Part
  readonly counts: Counts
}

interface Importing {
  readonly from: AgentApi
  readonly to: AgentApi
  readonly options: ImportOptions
  readonly err: Output
  /** No further thing is begun. */
  readonly stopping: AbortSignal
}

async function importParts(context: Importing): Promise<Tally[]> {
  const tallies: Tally[] = []
  for (const part of context.options.only) {
    if (context.stopping.aborted) break
    tallies.push({ part, counts: await importPart(context, part) })
  }
  return tallies
}

interface Thing {
  readonly name: string
  readonly bring: () => Promise<Outcome>
}

async function* thingsOf({ from, to, options }: Importing, part: Part): AsyncGenerator<Thing> {
  const replaces = options.replace === true
  if (part === "assistants") {
    for await (const assistant of ownAssistants(from))
      yield { name: assistant.assistant_id, bring: () => importAssistant({ from, to }, assistant) }
  } else if (part === "crons") {
    const target = { to, replaces, enables: options.enableCrons === true }
    for await (const cron of cronsOf(from)) yield { name: shownCron(cron), bring: () => importCron(target, cron) }
  } else if (part === "store") {
    for await (const item of itemsOf(from))
      yield { name: shownItem(item), bring: () => importItem({ to, replaces }, item) }
  } else {
    const context = { from, to, replaces, mostCheckpoints: options.checkpoints, graphs: noGraphs() }
    for await (const id of threadIds(from)) yield { name: id, bring: () => importThread(context, id) }
  }
}

const nouns: Readonly<Record<Part, string>> = {
  assistants: "assistants",
  threads: "threads",
  crons: "crons",
  store: "store items",
}

/** Several at a time: each takes the next one when it is done. What fails is named, and the others go on. */
async function importPart(context: Importing, part: Part): Promise<Counts> {
  const { from, options, err, stopping } = context
  const counts: Counts = { imported: 0, there: 0, skipped: 0, differs: 0, failed: 0, checkpoints: 0 }
  const total = part === "threads" ? await countThreads(from) : undefined
  const done = () => counts.imported + counts.there + counts.skipped + counts.differs + counts.failed
  const failures = () =>
    counts.failed + counts.differs > 0 ? `${counts.failed + counts.differs} not as they were` : ""
  const progress = showProgress(err, nouns[part], () => ({ done: done(), total, note: failures() }))
  const things = thingsOf(context, part)
  const say = (name: string, words: string) =>
    err.line(`  ${err.style("yellow", "!")} ${nouns[part]}: ${name}: ${words}`)
  let isOver = false
  const work = async () => {
    while (!stopping.aborted && !isOver) {
      const next = await things.next()
      if (next.done) return
      const { name, bring } = next.value
      count(counts, await bring().catch(failed), (words) => say(name, words))
    }
  }
  try {
    await Promise.all(Array.from({ length: options.concurrency }, work))
  } finally {
    isOver = true
    progress.stop()
  }
  return counts
}

/** A server that is away ends the import: the others would only wait as long. */
function failed(error: unknown): { readonly kind: "failed"; readonly why: string } {
  if (error instanceof AgentRefused) return { kind: "failed", why: error.message }
  if (error instanceof AgentAway)
    throw new NotAllImported(`${error.message}: the same command goes on where it was`, { cause: error })
  throw error
}

function count(counts: Counts, outcome: Outcome | ReturnType<typeof failed>, say: (words: string) => void): void {
  counts[outcome.kind]++
  if (outcome.kind === "imported") {
    counts.checkpoints += outcome.checkpoints
    for (const note of outcome.notes) say(note)
  } else if (outcome.kind !== "there") say(outcome.why)
}

function summary(part: Part, { imported, there, skipped, differs, failed, checkpoints }: Counts): string {
  const of = part === "threads" ? ` with ${checkpoints} checkpoints` : ""
  const others = [
    [there, "were on the new server already"],
    [skipped, "skipped"],
    [differs, "on the new server, but not as on the old one"],
    [failed, "failed"],
  ] as const
  const rest = others.filter(([number]) => number > 0).map(([number, words]) => `, ${number} ${words}`)
  return `${nouns[part]}: ${imported} imported${of}${rest.join("")}`
}
