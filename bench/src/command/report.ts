/** The report, as a table and as JSON. Pure. */
import { arch, cpus, platform } from "node:os"
import type { Options, SystemName } from "../options.js"
import type { Metric, Sample } from "../scenarios/scenario.js"
import { median, percentile } from "../statistics.js"
import type { Measured } from "./measure.js"
import { edgeTarget, pythonTargetOf, type Target, targetOf } from "./targets.js"

/** One figure of every measured system: the median over the rounds. */
export interface Row {
  readonly scenario: string
  readonly metric: string
  readonly unit: Metric["unit"]
  readonly values: Readonly<Partial<Record<SystemName, number>>>
  /** The server's worst single sample: a pause that few rounds meet does not show in a median. */
  readonly worst?: number
  /**
   * The server's figure divided by the floor's, by the peer's and by that of the server without traces; the edge's divided by the server's and by the proxy's; that of graphs
   * in Python divided by their floor's and by that of graphs in JavaScript.
   */
  readonly ratios: Readonly<Partial<Record<RatioName, number>>>
  /** Whether the server's figure, or its ratio to the floor, reaches its target. Absent without a target. */
  readonly server?: Verdict
  readonly edge?: Verdict
  readonly python?: Verdict
}

type RatioName = "floor" | "peer" | "untraced" | "edge" | "proxy" | "pythonFloor" | "pythonServer"

export interface Verdict {
  readonly atLeast: number
  readonly aim: number
  /** The unit of `atLeast` and `aim`: the metric's, or × for a ratio to the floor. */
  readonly unit: Metric["unit"] | "×"
  readonly reaches: "aim" | "at least" | "neither"
}

/** @param measured  the results of one scenario, one per system */
export function summarise(measured: readonly Measured[]): Row[] {
  const scenario = measured[0]?.scenario
  return (scenario?.metrics ?? []).map((metric) => {
    const found = measured.flatMap(({ system, rounds }) => {
      const value = overRounds(rounds, metric)
      return Number.isNaN(value) ? [] : [[system, value] as const]
    })
    const values: Row["values"] = Object.fromEntries(found)
    const { floor, server, proxy, edge, peer, python } = values
    const [byFloor, byPeer] = [ratio(server, floor), ratio(server, peer)]
    const byUntraced = ratio(server, values.untraced)
    const ratios = {
      floor: byFloor,
      peer: byPeer,
      untraced: byUntraced,
      edge: ratio(edge, server),
      proxy: ratio(edge, proxy),
    }
    const ofPython = { pythonFloor: ratio(python, values["python-floor"]), pythonServer: ratio(python, server) }
    const target = targetOf(scenario?.name ?? "", metric.label)
    return {
      scenario: scenario?.name ?? "",
      metric: metric.label,
      unit: metric.unit,
      values,
      ...worstOf(measured.find(({ system }) => system === "server")?.rounds ?? [], metric),
      ratios: Object.fromEntries(Object.entries({ ...ratios, ...ofPython }).filter(([, value]) => value !== undefined)),
      ...serverVerdict(target, target?.isRatio ? ratios.floor : server, metric),
      ...pythonVerdict({ scenario: scenario?.name ?? "", metric, python, ...ofPython }),
      ...(ratios.edge !== undefined && { edge: judge(ratios.edge, { ...edgeTarget, isRatio: true }, metric) }),
    }
  })
}

function overRounds(rounds: Measured["rounds"], { key, statistic = "p50" }: Metric): number {
  const share = statistic === "p50" ? 0.5 : 0.99
  const figureOf = (sample: Sample) => sample[key] ?? Number.NaN
  return median(rounds.map((samples) => percentile(samples.map(figureOf), share)))
}

function worstOf(rounds: Measured["rounds"], { key, better }: Metric): Pick<Row, "worst"> {
  const figures = rounds.flat().flatMap((sample) => sample[key] ?? [])
  if (figures.length === 0) return {}
  return { worst: better === "low" ? Math.max(...figures) : Math.min(...figures) }
}

const ratio = (value: number | undefined, base: number | undefined): number | undefined =>
  value === undefined || base === undefined ? undefined : value / base

const serverVerdict = (target: Target | undefined, value: number | undefined, metric: Metric): Pick<Row, "server"> =>
  target && value !== undefined ? { server: judge(value, target, metric) } : {}

interface OfPython {
  readonly scenario: string
  readonly metric: Metric
  readonly python: number | undefined
  readonly pythonFloor: number | undefined
  readonly pythonServer: number | undefined
}

function pythonVerdict({ scenario, metric, python, ...ratios }: OfPython): Pick<Row, "python"> {
  const target = pythonTargetOf(scenario, metric.label)
  const value = target?.base === undefined ? python : ratios[target.base]
  return target && value !== undefined
    ? { python: judge(value, { ...target, ...(target.base && { isRatio: true }) }, metric) }
    : {}
}

function judge(
  value: number,
  { atLeast, aim, isRatio }: Pick<Target, "atLeast" | "aim" | "isRatio">,
  { better, unit: ofMetric }: Metric,
): Verdict {
  const isMet = (target: number) => (better === "low" ? value <= target : value >= target)
  const unit = isRatio ? "×" : ofMetric
  return { atLeast, aim, unit, reaches: isMet(aim) ? "aim" : isMet(atLeast) ? "at least" : "neither" }
}

export const environment = () => ({ node: process.version, platform: `${platform()} ${arch()}`, cores: cpus().length })

/** The table, one line per figure. */
export function renderTable(rows: readonly Row[], options: Options): string {
  const { node, platform, cores } = environment()
  const title = `Node ${node}, ${platform}, ${cores} cores; medians of ${options.repeats} rounds, fewer where a round takes long`
  return `${title}\n\n${renderRows(rows, options)}`
}

export function renderRows(rows: readonly Row[], { systems }: Options): string {
  const head = [
    "",
    ...systems,
    ...(systems.includes("server") ? ["server's worst"] : []),
    ...ratioColumns(systems),
    "at least",
    "aim",
    "reaches",
  ]
  const lines = rows.flatMap((row, index) => {
    const isFirst = rows[index - 1]?.scenario !== row.scenario
    return [...(isFirst ? [[row.scenario]] : []), renderRow(row, systems)]
  })
  return align([head, ...lines]).join("\n")
}

const ratioColumns = (systems: readonly SystemName[]): string[] =>
  systems.includes("server")
    ? [
        "÷ floor",
        ...(systems.includes("peer") ? ["÷ peer"] : []),
        ...(systems.includes("untraced") ? ["÷ untraced"] : []),
        "edge ÷ server",
        "edge ÷ proxy",
        ...(systems.includes("python") ? ["python ÷ its floor", "python ÷ server"] : []),
      ]
    : []

const baseOf: Readonly<Record<string, keyof Row["ratios"]>> = {
  "÷ floor": "floor",
  "÷ peer": "peer",
  "÷ untraced": "untraced",
  "edge ÷ server": "edge",
  "edge ÷ proxy": "proxy",
  "python ÷ its floor": "pythonFloor",
  "python ÷ server": "pythonServer",
}

function renderRow(
  { metric, unit, values, worst, ratios, server, edge, python }: Row,
  systems: readonly SystemName[],
): string[] {
  const figures = systems.map((name) => renderValue(values[name], unit))
  if (systems.includes("server")) figures.push(renderValue(worst, unit))
  const times = (value: number | undefined) => (value === undefined ? "" : `${value.toFixed(2)}×`)
  const shown = ratioColumns(systems).map((name) => times(ratios[baseOf[name] ?? "edge"]))
  const edgeNote = edge && edge.reaches !== "aim" ? `; edge ${edge.reaches}` : ""
  const pythonNote = python
    ? `; python ${python.reaches} (${renderValue(python.atLeast, python.unit)}, ${renderValue(python.aim, python.unit)})`
    : ""
  const verdict = server ? [renderValue(server.atLeast, server.unit), renderValue(server.aim, server.unit)] : ["", ""]
  return [`  ${metric}`, ...figures, ...shown, ...verdict, `${server?.reaches ?? ""}${edgeNote}${pythonNote}`]
}

function renderValue(value: number | undefined, unit: Verdict["unit"]): string {
  if (value === undefined) return "–"
  if (unit === "×") return `${value}×`
  const digits = Math.abs(value) >= 100 || (unit === "" && Number.isInteger(value)) ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toLocaleString("en", { maximumFractionDigits: digits })} ${unit}`.trim()
}

/** Aligns columns to their widest cell. A line with a single cell is a heading and does not affect the widths. */
function align(lines: readonly string[][]): string[] {
  const cells = lines.filter((line) => line.length > 1)
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column === 0 || column === widths.length - 1 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return lines.map((line) => (line.length > 1 ? line.map(pad).join("  ") : (line[0] ?? "")).trimEnd())
}
