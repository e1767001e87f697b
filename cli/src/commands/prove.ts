/** `superstep prove`: whether the promises of docs/durability.md hold for the project in this folder, on this machine. */
import { randomInt } from "node:crypto"
import { join, resolve } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { skip as withoutProc } from "@superstep/toolkit/testing/processes"
import { InvalidArgumentError, Option } from "commander"
import type { CliCommand, Context } from "../command-line/command.js"
import { parseCount } from "../command-line/options.js"
import { ask } from "../output/ask.js"
import { formatLogLine } from "../output/log-lines.js"
import { withProgress } from "../output/progress.js"
import { listenForStop } from "../processes/stop-signals.js"
import { type Project, readProject } from "../project/project.js"
import { Campaign, mostRuns, type Subject } from "../prove/campaign.js"
import { faultsOf, keepEvidence } from "../prove/evidence.js"
import type { ThreadFacts } from "../prove/facts.js"
import { type Input, inputsFor, runsPerConversation } from "../prove/inputs.js"
import { type Installation, startInstallation } from "../prove/installation.js"
import { ServerEnded } from "../prove/killable-server.js"
import { isHeld, screenOf } from "../prove/report.js"
import { configOption } from "./dev.js"

interface ProveOptions {
  readonly config: string
  readonly graph?: string
  readonly input?: Input
  readonly header: Readonly<Record<string, string>>
  readonly minutes: number
  readonly seed?: number
  readonly yes?: true
}

/** No verdict: what the command needs is missing, or it was stopped. */
export class CannotProve extends KnownError {
  readonly code = "cannot_prove"
}

// 1 is the verdict that a promise was broken.
const brokenCode = 1
const noVerdictCode = 2

export const prove: CliCommand<ProveOptions> = {
  words: "prove [folder]",
  summary: "attack the project in this folder for some minutes, on a database of its own, and say which promises held",
  failureCode: noVerdictCode,
  options: [
    configOption(),
    new Option("--graph <name>", "only this graph of the project"),
    new Option("--input <json>", "input of its runs; by default a message, if the graph takes messages").argParser(
      parseInput,
    ),
    new Option("--header <line>", "header of each request, such as 'authorization: Bearer …'; may be repeated")
      .argParser(parseHeader)
      .default({}, "none"),
    new Option("--minutes <n>", "how long to attack").argParser(parseMinutes).default(3),
    new Option("--seed <n>", "make the same choices as an earlier proof").argParser(parseCount),
    new Option("-y, --yes", "do not ask before the graphs are run"),
  ],
  async run({ args: [folder = "."], options, ...context }) {
    const project = await readProject(join(resolve(folder), options.config))
    const graphs = graphsOf(project, options)
    if (withoutProc) throw new CannotProve(`superstep prove needs Linux: ${withoutProc}`)
    await confirm(graphs, options, context)
    const stop = listenForStop()
    stop.onSecond(() => process.exit(noVerdictCode))
    try {
      await proveProject({ project, graphs, options, context, signal: stop.first })
    } catch (error) {
      if (stop.first.aborted) throw new CannotProve("stopped before there was a verdict; everything was cleaned up")
      throw error
    } finally {
      stop.release()
    }
  },
}

function graphsOf({ graphs, configPath }: Project, { graph, input }: ProveOptions): readonly string[] {
  if (graph !== undefined && !graphs.includes(graph))
    throw new CannotProve(`${configPath} defines no graph ${graph}, but ${graphs.join(", ")}`)
  if (graph !== undefined) return [graph]
  if (input !== undefined && graphs.length > 1)
    throw new CannotProve(
      `the project has the graphs ${graphs.join(", ")}: say with --graph which of them gets the input`,
    )
  return graphs
}

async function confirm(graphs: readonly string[], { minutes, yes }: ProveOptions, { err }: Context): Promise<void> {
  const runs = mostRuns(graphs.length, minutes)
  const noun = graphs.length === 1 ? `the graph ${graphs[0]}` : `the graphs ${graphs.join(", ")}`
  err.line(`This runs ${noun} up to ${runs} times on this machine, with the environment of this shell. Each run calls`)
  err.line("the models and services that the graph calls, and what is killed calls them again.")
  if (yes || !process.stdin.isTTY || !err.isTerminal) return
  if (!/^y/i.test(await ask("Start?", "no"))) throw new CannotProve("not started; --yes starts without a question")
}

interface Proof {
  readonly project: Project
  readonly graphs: readonly string[]
  readonly options: ProveOptions
  readonly context: Context
  readonly signal: AbortSignal
}

async function proveProject({ project, graphs, options, context, signal }: Proof): Promise<void> {
  const { out, err } = context
  const { minutes, header: headers } = options
  const seed = options.seed ?? randomInt(1, 1_000_000)
  await using installation = await start(project, context, signal)
  const subjects = await Promise.all(graphs.map((graph) => subjectOf(graph, installation, options)))
  const onProgress = (words: string) => err.line(err.style("dim", `  ${words}`))
  const campaign = new Campaign({ installation, subjects, minutes, seed, headers, signal, onProgress })
  const report = await campaign.attack(await campaign.learn(throwIfFailed))
  const serverFaults = faultsOf(installation)
  const held = isHeld(report, { serverFaults })
  const evidence = held ? undefined : keepEvidence(installation, report.found)
  const command = commandOf(seed, options)
  const screen = { release: context.release, seed, minutes, command, serverFaults, evidence }
  err.line()
  for (const line of screenOf(report, screen, out.style)) out.line(line)
  process.exitCode = held ? 0 : brokenCode
}

async function start(project: Project, { config, err }: Context, signal: AbortSignal): Promise<Installation> {
  const { environment } = config
  // Loaded here: most projects need none of it.
  const { preparePython } = await import("../project/python-environment.js")
  const whileInstalling = <T>(words: string, work: () => Promise<T>) => withProgress(err, words, work)
  await preparePython(project, { environment, signal, whileInstalling })
  try {
    return await withProgress(err, "starting Postgres and two agent servers", () =>
      startInstallation({ project, environment, signal }),
    )
  } catch (cause) {
    if (!(cause instanceof ServerEnded)) throw cause
    const lines = cause.log.split("\n").map((line) => formatLogLine(line, err.style))
    throw new CannotProve(`the project does not start:\n${lines.join("\n")}`, { cause })
  }
}

async function subjectOf(
  graph: string,
  { servers: [server] }: Installation,
  { input, header: headers }: ProveOptions,
): Promise<Subject> {
  const response = await fetch(`${server?.url}/assistants/${encodeURIComponent(graph)}/schemas`, { headers })
  const text = await response.text()
  if (response.status === 401 || response.status === 403)
    throw new CannotProve(
      `the project's auth refuses the request (${response.status}): give the header of a user, for example --header 'authorization: Bearer …'`,
    )
  if (!response.ok) throw new CannotProve(`the server does not know the input of ${graph}: ${response.status} ${text}`)
  const schema = (JSON.parse(text) as { input_schema: unknown }).input_schema
  return { graph, inputs: input ? Array(runsPerConversation).fill(input) : inputsFor(schema, graph) }
}

/** What fails when nothing attacks it cannot be proved. */
function throwIfFailed({ graph, runs, faults }: ThreadFacts): void {
  const [first] = runs
  const isBad = first?.status === "error" || first?.status === "timeout"
  const why = isBad ? (first.error ?? `its run ended as ${first.status}`) : faults[0]
  if (why === undefined) return
  throw new CannotProve(`the graph ${graph} fails when nothing attacks it: ${why}`)
}

function commandOf(seed: number, { graph, minutes, input }: ProveOptions): string {
  const words = [
    ...["superstep prove", `--seed ${seed}`, `--minutes ${minutes}`],
    ...(graph === undefined ? [] : [`--graph ${graph}`]),
    ...(input === undefined ? [] : [`--input '${JSON.stringify(input)}'`]),
  ]
  return words.join(" ")
}

// A day. The exact limit does not matter: timers have one.
const mostMinutes = 1440

/** @throws InvalidArgumentError  with a message that commander appends to the option's name */
function parseMinutes(text: string): number {
  const minutes = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && minutes > 0 && minutes <= mostMinutes) return minutes
  throw new InvalidArgumentError(`expected minutes, above 0 and up to ${mostMinutes}.`)
}

/** @throws InvalidArgumentError */
function parseInput(text: string): Input {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Input
  } catch {
    // Told below.
  }
  throw new InvalidArgumentError(
    `expected an object as JSON, such as '{"messages":[{"role":"user","content":"Hello"}]}'.`,
  )
}

/** @throws InvalidArgumentError */
function parseHeader(text: string, others: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([\w-]+):\s*(.+)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError("expected `name: value`.")
  return { ...others, [name.toLowerCase()]: value }
}
