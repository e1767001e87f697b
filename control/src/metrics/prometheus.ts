/** Prometheus' text format, and what an operator sees in it. Pure. */
import { latencyBoundsMs, type Tally } from "../edge/tallies.js"
import type { LatestSample, StateCount } from "./queries.js"

interface Line {
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: "gauge" | "counter" | "histogram"
  readonly lines: readonly Line[]
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")

function lineText(name: string, { suffix = "", labels = {}, value }: Line): string {
  const inner = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${suffix}${inner.length > 0 ? `{${inner.join(",")}}` : ""} ${value}`
}

const familyText = ({ name, help, type, lines }: Family): string =>
  [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines.map((line) => lineText(name, line))].join("\n")

export interface OperatorView {
  readonly counts: readonly StateCount[]
  readonly samples: readonly LatestSample[]
  /** By deployment; what the edge has answered since it started. */
  readonly answered: Readonly<Record<string, Tally>>
  readonly process: { readonly cpuSeconds: number; readonly rssBytes: number; readonly startedAtSeconds: number }
}

/** @see  the Prometheus exposition format, version 0.0.4 */
export function prometheusText(view: OperatorView): string {
  const families = [...installation(view), ...deployments(view), ...answers(view), ...ownProcess(view)]
  return `${families
    .filter(({ lines }) => lines.length > 0)
    .map(familyText)
    .join("\n")}\n`
}

const countNames: Readonly<Record<StateCount["kind"], string>> = {
  deployments: "Deployments, by status.",
  revisions: "Revisions that the pipeline works on, by stage.",
  units: "Agent servers, by state.",
  deliveries: "Calls of webhooks that wait, by state.",
}

const installation = ({ counts }: OperatorView): Family[] =>
  Object.entries(countNames).map(([kind, help]) => ({
    name: `superstep_${kind}`,
    help,
    type: "gauge",
    lines: counts.filter((it) => it.kind === kind).map(({ state, count }) => ({ labels: { state }, value: count })),
  }))

const labelsOf = ({ workspace_id, deployment_id, name }: LatestSample) => ({ workspace_id, deployment_id, name })

function deployments({ samples }: OperatorView): Family[] {
  const gauge = (name: string, help: string, read: (sample: LatestSample) => number | null): Family => ({
    name: `superstep_deployment_${name}`,
    help,
    type: "gauge",
    lines: samples.flatMap((sample) => {
      const value = read(sample)
      return value === null ? [] : [{ labels: labelsOf(sample), value }]
    }),
  })
  return [
    gauge("replicas", "Agent servers that serve a deployment.", (it) => it.replicas),
    gauge("cpu_cores", "Processors that its agent servers use, with their workers.", (it) => it.cpu_cores),
    gauge("memory_bytes", "Memory that its agent servers use, with their workers.", (it) => it.rss_bytes),
    gauge("restarts", "Consecutive crashes of its agent servers and their workers.", (it) => it.restarts),
    gauge("runs_pending", "Runs that wait.", (it) => it.pending_runs),
    gauge("runs_active", "Runs that execute.", (it) => it.active_runs),
  ]
}

function answers({ answered }: OperatorView): Family[] {
  const tallies = Object.entries(answered)
  const counter = (name: string, help: string, read: (tally: Tally) => number): Family => ({
    name: `superstep_edge_${name}`,
    help,
    type: "counter",
    lines: tallies.map(([deployment_id, tally]) => ({ labels: { deployment_id }, value: read(tally) })),
  })
  return [
    counter("requests_total", "Requests that were answered since the edge started.", ({ requests }) => requests),
    counter("errors_total", "Those that were answered with 500 and above.", ({ errors }) => errors),
    {
      name: "superstep_edge_latency_seconds",
      help: "From a request's arrival to the begin of its answer.",
      type: "histogram",
      lines: tallies.flatMap(([deployment_id, tally]) => latencyLines(deployment_id, tally)),
    },
  ]
}

function latencyLines(deploymentId: string, { latency_counts: counts, latency_ms: ms, requests }: Tally): Line[] {
  const labels = { deployment_id: deploymentId }
  let below = 0
  const buckets = latencyBoundsMs.map((bound, index) => {
    below += counts[index] ?? 0
    return { suffix: "_bucket", labels: { ...labels, le: String(bound / 1000) }, value: below }
  })
  return [
    ...buckets,
    { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: requests },
    { suffix: "_sum", labels, value: ms / 1000 },
    { suffix: "_count", labels, value: requests },
  ]
}

const ownProcess = ({ process }: OperatorView): Family[] => [
  {
    name: "process_cpu_seconds_total",
    help: "Processor time of the control plane.",
    type: "counter",
    lines: [{ value: process.cpuSeconds }],
  },
  {
    name: "process_resident_memory_bytes",
    help: "Memory of the control plane.",
    type: "gauge",
    lines: [{ value: process.rssBytes }],
  },
  {
    name: "process_start_time_seconds",
    help: "When the control plane started, as a Unix time.",
    type: "gauge",
    lines: [{ value: process.startedAtSeconds }],
  },
]
