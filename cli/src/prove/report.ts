/** The last screen of a proof, for users who know nothing of how it works. Pure. */
import type { Output } from "../output/output.js"
import { table } from "../output/table.js"
import type { CampaignReport, Found, Learned } from "./campaign.js"
import { type Promised, promises } from "./judge.js"

export interface Screen {
  readonly release: string
  readonly seed: number
  readonly minutes: number
  /** The command that repeats it. */
  readonly command: string
  /** What servers did that they never may: parts of their logs. */
  readonly serverFaults: readonly string[]
  /** Where the evidence is, when a promise is broken. */
  readonly evidence: string | undefined
}

// Of each promise: one is enough to understand it, and the evidence has all.
const mostShown = 2

export const isHeld = ({ found }: CampaignReport, { serverFaults }: Pick<Screen, "serverFaults">): boolean =>
  found.length === 0 && serverFaults.length === 0

/** @returns its lines */
export function screenOf(report: CampaignReport, screen: Screen, style: Output["style"]): string[] {
  const { release, seed, minutes, serverFaults } = screen
  const graphs = report.learned.map(({ subject }) => subject.graph).join(", ")
  const crashes = serverFaults.length > 0 ? `BROKEN, ${count(serverFaults.length, "time")}` : "held"
  return [
    style("bold", `Superstep ${release}, graph ${graphs}, ${count(minutes, "minute")}, seed ${seed}`),
    "",
    ...indented(table(["attack", "times", "while runs executed", "runs continued", "outcome"], attackRows(report))),
    "",
    ...indented(
      table(
        ["promise", "outcome"],
        [...promiseRows(report), ["no server crashed, or found a rule of its own broken", crashes]],
      ),
    ),
    "",
    ...(isHeld(report, screen) ? heldLines(report, style) : brokenLines(report, screen, style)),
  ]
}

const attackRows = ({ attacks }: CampaignReport): string[][] =>
  [...attacks].map(([{ words }, { times, underWay, continued, broken }]) => [
    words,
    String(times),
    String(underWay),
    String(continued),
    broken > 0 ? `BROKEN, ${count(broken, "time")}` : times > 0 ? "held" : "not reached",
  ])

const promiseRows = (report: CampaignReport): string[][] =>
  promises.map((promise) => [promise.words, outcomeOf(promise, report)])

function outcomeOf(promise: Promised, { judged, found, learned }: CampaignReport): string {
  const broken = found.filter((one) => one.promise === promise).length
  const excuses = learned.flatMap((of) => excuseOf(promise, of, learned.length > 1))
  if (broken > 0) return `BROKEN, ${count(broken, "time")}`
  const graphs = learned.filter((of) => promise.isNotJudged?.(of) === undefined)
  const runs = graphs.reduce((sum, { subject }) => sum + (judged.get(subject.graph) ?? 0), 0)
  const held = runs > 0 ? [`held, ${count(runs, "run")}`] : []
  return [...held, ...excuses.map((why) => `not judged: ${why}`)].join("; ")
}

function excuseOf({ isNotJudged }: Promised, of: Learned, isNamed: boolean): string[] {
  const why = isNotJudged?.(of)
  if (why === undefined) return []
  return [isNamed ? `${why} (${of.subject.graph})` : why]
}

function heldLines({ attacks, runs }: CampaignReport, style: Output["style"]): string[] {
  const tallies = [...attacks.values()]
  const times = tallies.reduce((sum, one) => sum + one.times, 0)
  const underWay = tallies.reduce((sum, one) => sum + one.underWay, 0)
  const words = `Held: ${count(times, "attack")} on ${count(runs, "run")}, ${underWay} while runs executed, and no promise was broken.`
  const isWhole = tallies.every((one) => one.times > 0)
  return [
    ...(isWhole ? [] : ["  Some attacks were not reached: give more time with --minutes."]),
    style("green", `✔ ${words}`),
  ]
}

function brokenLines({ found }: CampaignReport, screen: Screen, style: Output["style"]): string[] {
  const { serverFaults, command, evidence } = screen
  const broken = promises.filter((promise) => found.some((one) => one.promise === promise))
  return [
    ...broken.flatMap((promise) => findingLines(found.filter((one) => one.promise === promise))),
    ...serverFaults.slice(0, mostShown).map((line) => `  ${line}`),
    "",
    style("red", `✖ Broken: ${promisesWords(broken, serverFaults)}.`),
    "  Its cause is Superstep, or a node that cannot be executed twice, or a service that the graph calls: see docs/prove.md.",
    `  Repeat it:     ${command}`,
    ...(evidence === undefined ? [] : [`  The evidence:  ${evidence} (what clients saw, and the servers' logs)`]),
  ]
}

/** @param found  all of one promise */
const findingLines = (found: readonly Found[]): string[] => [
  `  BROKEN: ${found[0]?.promise.words}`,
  ...found.slice(0, mostShown).flatMap(({ during, detail }) => [`    after: ${during}`, `      ${detail}`]),
  ...(found.length > mostShown ? [`    … and ${found.length - mostShown} more`] : []),
]

const promisesWords = (broken: readonly Promised[], faults: readonly string[]): string =>
  [
    ...(broken.length > 0 ? [count(broken.length, "promise")] : []),
    ...(faults.length > 0 ? ["faults of a server"] : []),
  ].join(" and ")

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`)

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`
