/** What people and programs read at the end. Pure. */
import { arch, cpus, platform } from "node:os"
import type { Measured } from "./measure.js"
import type { Options } from "./options.js"
import type { Metric, Sample } from "./scenarios/scenario.js"
import { median, percentile } from "./statistics.js"
import type { SystemName } from "./systems/system.js"
import { edgeTarget, targetOf } from "./targets.js"

/** One figure on every system that was measured; the median over the rounds. */
export interface Row {
  readonly scenario: string
  readonly metric: string
  readonly unit: Metric["unit"]
  readonly values: Readonly<Partial<Record<SystemName, number>>>
  /** The server's figure by the floor's and by the peer's; the edge's by the server's. */
  readonly ratios: Readonly<Partial<Record<"floor" | "peer" | "edge", number>>>
  /** Whether the server's figure reaches its target; absent where there is none. */
  readonly server?: Verdict
  readonly edge?: Verdict
}

export interface Verdict {
  readonly atLeast: number
  readonly aim: number
  readonly reaches: "aim" | "at least" | "neither"
}

/** @param measured  of one scenario, a system each */
export function summarise(measured: readonly Measured[]): Row[] {
  const scenario = measured[0]?.scenario
  return (scenario?.metrics ?? []).map((metric) => {
    const found = measured.flatMap(({ system, rounds }) => {
      const value = overRounds(rounds, metric)
      return Number.isNaN(value) ? [] : [[system, value] as const]
    })
    const values: Row["values"] = Object.fromEntries(found)
    const { floor, server, edge, peer } = values
    const ratios = { floor: ratio(server, floor), peer: ratio(server, peer), edge: ratio(edge, server) }
    const target = targetOf(scenario?.name ?? "", metric.label)
    return {
      scenario: scenario?.name ?? "",
      metric: metric.label,
      unit: metric.unit,
      values,
      ratios: Object.fromEntries(Object.entries(ratios).filter(([, value]) => value !== undefined)),
      ...(target && server !== undefined && { server: judge(server, target, metric.better) }),
      ...(ratios.edge !== undefined && { edge: judge(ratios.edge, edgeTarget, metric.better) }),
    }
  })
}

function overRounds(rounds: Measured["rounds"], { key, statistic = "p50" }: Metric): number {
  const share = statistic === "p50" ? 0.5 : 0.99
  const figureOf = (sample: Sample) => sample[key] ?? Number.NaN
  return median(rounds.map((samples) => percentile(samples.map(figureOf), share)))
}

const ratio = (value: number | undefined, base: number | undefined): number | undefined =>
  value === undefined || base === undefined ? undefined : value / base

function judge(value: number, { atLeast, aim }: { atLeast: number; aim: number }, better: Metric["better"]): Verdict {
  const isMet = (target: number) => (better === "low" ? value <= target : value >= target)
  return { atLeast, aim, reaches: isMet(aim) ? "aim" : isMet(atLeast) ? "at least" : "neither" }
}

export const environment = () => ({ node: process.version, platform: `${platform()} ${arch()}`, cores: cpus().length })

/** The table for people: one line a figure. */
export function renderTable(rows: readonly Row[], options: Options): string {
  const { node, platform, cores } = environment()
  const title = `Node ${node}, ${platform}, ${cores} cores; medians of ${options.repeats} rounds, fewer where one takes long`
  return `${title}\n\n${renderRows(rows, options)}`
}

export function renderRows(rows: readonly Row[], { systems }: Options): string {
  const head = ["", ...systems, ...ratioColumns(systems), "at least", "aim", "reaches"]
  const lines = rows.flatMap((row, index) => {
    const isFirst = rows[index - 1]?.scenario !== row.scenario
    return [...(isFirst ? [[row.scenario]] : []), renderRow(row, systems)]
  })
  return align([head, ...lines]).join("\n")
}

const ratioColumns = (systems: readonly SystemName[]): string[] =>
  systems.includes("server") ? ["÷ floor", ...(systems.includes("peer") ? ["÷ peer"] : []), "edge ÷ server"] : []

function renderRow({ metric, unit, values, ratios, server, edge }: Row, systems: readonly SystemName[]): string[] {
  const figures = systems.map((name) => renderValue(values[name], unit))
  const times = (value: number | undefined) => (value === undefined ? "" : `${value.toFixed(2)}×`)
  const shown = ratioColumns(systems).map((name) =>
    times(name === "÷ floor" ? ratios.floor : name === "÷ peer" ? ratios.peer : ratios.edge),
  )
  const edgeNote = edge && edge.reaches !== "aim" ? `; edge ${edge.reaches}` : ""
  const verdict = server ? [renderValue(server.atLeast, unit), renderValue(server.aim, unit)] : ["", ""]
  return [`  ${metric}`, ...figures, ...shown, ...verdict, `${server?.reaches ?? ""}${edgeNote}`]
}

function renderValue(value: number | undefined, unit: Metric["unit"]): string {
  if (value === undefined) return "–"
  const digits = Math.abs(value) >= 100 || (unit === "" && Number.isInteger(value)) ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toLocaleString("en", { maximumFractionDigits: digits })} ${unit}`.trim()
}

/** Columns as wide as what is in them; a line with a single cell is a heading and widens none. */
function align(lines: readonly string[][]): string[] {
  const cells = lines.filter((line) => line.length > 1)
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column === 0 || column === widths.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return lines.map((line) => (line.length > 1 ? line.map(pad).join("  ") : (line[0] ?? "")).trimEnd())
}
