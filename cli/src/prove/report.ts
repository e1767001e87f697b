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
  /** Rules of its own that a server has found broken: lines of their logs. */
  readonly brokenRules: readonly string[]
  /** Where the evidence is, when a promise is broken. */
  readonly evidence: string | undefined
}

const mostShown = 5

export const isHeld = ({ found }: CampaignReport, { brokenRules }: Pick<Screen, "brokenRules">): boolean =>
  found.length === 0 && brokenRules.length === 0

/** @returns its lines */
export function screenOf(report: CampaignReport, screen: Screen, style: Output["style"]): string[] {
  const { release, seed, minutes, brokenRules } = screen
  const graphs = report.learned.map(({ subject }) => subject.graph).join(", ")
  const rules = brokenRules.length > 0 ? `BROKEN, ${count(brokenRules.length, "time")}` : "held"
  return [
    style("bold", `Superstep ${release}, graph ${graphs}, ${count(minutes, "minute")}, seed ${seed}`),
    "",
    ...indented(table(["attack", "times", "while runs executed", "runs continued", "outcome"], attackRows(report))),
    "",
    ...indented(
      table(["promise", "outcome"], [...promiseRows(report), ["no server found a rule of its own broken", rules]]),
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
  const runs = judged.get(promise) ?? 0
  const held = runs > 0 ? [`held, ${count(runs, "run")}`] : []
  return [...held, ...excuses.map((why) => `not judged: ${why}`)].join("; ")
}

function excuseOf({ isNotJudged }: Promised, of: Learned, isNamed: boolean): string[] {
  const why = isNotJudged?.(of)
  if (why === undefined) return []
  return [isNamed ? `${why} (${of.subject.graph})` : why]
}

function heldLines({ attacks, runs }: CampaignReport, style: Output["style"]): string[] {
  const times = [...attacks.values()].reduce((sum, one) => sum + one.times, 0)
  const words = `Held: ${count(times, "attack")} on ${count(runs, "run")}, and no promise was broken.`
  return [style("green", `✔ ${words}`)]
}

function brokenLines({ found }: CampaignReport, screen: Screen, style: Output["style"]): string[] {
  const { brokenRules, command, evidence } = screen
  const more = found.length - mostShown
  return [
    ...found.slice(0, mostShown).flatMap(findingLines),
    ...(more > 0 ? [`  … and ${more} more`] : []),
    ...brokenRules.slice(0, mostShown).map((line) => `  ${line}`),
    "",
    style("red", "✖ Broken: see above what was done and what came of it."),
    `  Repeat it:     ${command}`,
    ...(evidence === undefined ? [] : [`  The evidence:  ${evidence} (what clients saw, and the servers' logs)`]),
    "  Please report it with both.",
  ]
}

const findingLines = ({ promise, detail, during }: Found): string[] => [
  `  ${promise.words}: BROKEN`,
  `    during: ${during}`,
  `    ${detail}`,
]

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`)

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`
