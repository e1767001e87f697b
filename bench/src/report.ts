/** What people and programs read at the end. Pure. */
import { arch, cpus, platform } from "node:os"
import type { Options } from "./options.js"
import type { Metric, Scenario } from "./scenarios.js"
import { median, percentile } from "./statistics.js"

/** Every sample of a system in a scenario, by round. */
export interface Measured {
  readonly scenario: Scenario
  readonly system: string
  readonly rounds: readonly (readonly Readonly<Record<string, number>>[])[]
}

export interface Figure {
  readonly metric: string
  readonly unit: Metric["unit"]
  readonly statistic: "p50" | "p99"
  /** The median over the rounds. */
  readonly value: number
  /** Against the first system, the floor. */
  readonly ratio: number
}

export interface Row {
  readonly scenario: string
  readonly system: string
  readonly figures: readonly Figure[]
}

/** @param measured  the first system of a scenario is what the others are compared with */
export function summarise(measured: readonly Measured[]): Row[] {
  return measured.map((entry) => {
    const base = measured.find(({ scenario }) => scenario === entry.scenario) ?? entry
    const figures = entry.scenario.metrics.flatMap((metric) =>
      statisticsOf(entry.scenario).map((statistic) => {
        const value = overRounds(entry, metric.key, statistic)
        const ratio = value / overRounds(base, metric.key, statistic)
        return { metric: metric.label, unit: metric.unit, statistic, value, ratio }
      }),
    )
    return { scenario: entry.scenario.name, system: entry.system, figures }
  })
}

// One request a round has no percentiles.
const statisticsOf = ({ requests }: Scenario): readonly Figure["statistic"][] =>
  requests > 1 ? ["p50", "p99"] : ["p50"]

function overRounds({ rounds }: Measured, key: string, statistic: Figure["statistic"]): number {
  const share = statistic === "p50" ? 0.5 : 0.99
  return median(
    rounds.map((samples) =>
      percentile(
        samples.map((sample) => sample[key] ?? Number.NaN),
        share,
      ),
    ),
  )
}

export const environment = () => ({ node: process.version, platform: `${platform()} ${arch()}`, cores: cpus().length })

/** The table for people: one block a scenario, one line a system. */
export function renderTable(rows: readonly Row[], options: Options): string {
  const { node, platform, cores } = environment()
  const head = `Node ${node}, ${platform}, ${cores} cores; medians of ${options.repeats} rounds; × is the ratio to the floor`
  const names = [...new Set(rows.map(({ scenario }) => scenario))]
  const blocks = names.map((name) =>
    renderBlock(
      name,
      rows.filter(({ scenario }) => scenario === name),
    ),
  )
  return [head, ...blocks].join("\n\n")
}

const firstColumn = 26
const column = 28

function renderBlock(name: string, rows: readonly Row[]): string {
  const [first] = rows
  const titles = metricsOf(first?.figures ?? []).map(([figure, ...more]) =>
    [figure.metric, ...[figure, ...more].map(({ statistic }) => statistic)].join(" "),
  )
  const lines = rows.map(({ system, figures }) => renderLine(system, metricsOf(figures).map(renderMetric)))
  return [renderLine(name, titles), ...lines].join("\n")
}

type SomeFigures = readonly [Figure, ...Figure[]]

/** The figures of one metric belong together. */
function metricsOf(figures: readonly Figure[]): SomeFigures[] {
  const byMetric = new Map<string, SomeFigures>()
  for (const figure of figures) {
    const known = byMetric.get(figure.metric)
    byMetric.set(figure.metric, known ? [...known, figure] : [figure])
  }
  return [...byMetric.values()]
}

const renderLine = (first: string, cells: readonly string[]): string =>
  first.padEnd(firstColumn) + cells.map((cell) => cell.padStart(column)).join("")

/** All statistics of a metric, and the ratio of the first: `1.20 3.45 ms 2.30×`. */
function renderMetric(figures: SomeFigures): string {
  const [{ unit, ratio }] = figures
  const shown = figures.map(({ value }) => (unit === "ms" ? value.toFixed(2) : Math.round(value).toLocaleString("en")))
  return `${shown.join(" ")} ${unit} ${`${ratio.toFixed(2)}×`.padStart(7)}`
}
