/** The operator's view in Prometheus' text format. Pure. */

import type { EdgeTable } from "@superstep/edge/port"
import { latencyBoundsMs, type Tally } from "@superstep/edge/tallies"
import { runLatencyBoundsMs } from "@superstep/protocol/unit/run-latency"
import type { BackupState } from "../backups/queries.js"
import type { CertificateExpiry } from "../host-names/certificate-queries.js"
import type { ForwardingState } from "../log-forwarding/queries.js"
import type { EndedRevisions, PipelineProgress, StageTime } from "../revisions/progress-queries.js"
import type { LoopLag, MachineView } from "./machine.js"
import type { LatestSample, StateCount } from "./queries.js"
import { measured, type RunSample, type RunTally } from "./run-sample.js"

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
  /** By deployment; the edge's counts since it started. */
  readonly answered: Readonly<Record<string, Tally>>
  readonly tables: readonly EdgeTable[]
  readonly pipeline: {
    readonly progress: PipelineProgress
    readonly stageTimes: readonly StageTime[]
    readonly ends: readonly EndedRevisions[]
  }
  readonly machine: MachineView
  /** Of log forwarding; undefined without a sink. */
  readonly forwarding: (ForwardingState & { readonly unsent: number }) | undefined
  /** Of scheduled backups; undefined without a schedule. */
  readonly backups: BackupState | undefined
  readonly hostNames: readonly CertificateExpiry[]
  /** By revision, since the control plane started. */
  readonly runs: readonly RunSample[]
  readonly lag: LoopLag
  /** How often each rule was broken in this process, by its number. */
  readonly brokenRules: ReadonlyMap<string, number>
  readonly process: { readonly cpuSeconds: number; readonly rssBytes: number; readonly startedAtSeconds: number }
}

/** @see  the Prometheus exposition format, version 0.0.4 */
export function prometheusText(view: OperatorView): string {
  const families = [
    ...installation(view),
    ...pipeline(view),
    ...deployments(view),
    ...answers(view),
    ...edgeTables(view),
    ...runs(view),
    ...machine(view),
    ...forwarding(view),
    ...backups(view),
    ...hostNames(view),
    ...ownProcess(view),
  ]
  return `${families
    .filter(({ lines }) => lines.length > 0)
    .map(familyText)
    .join("\n")}\n`
}

const countNames: Readonly<Record<StateCount["kind"], string>> = {
  deployments: "Deployments, by status.",
  revisions: "Unfinished revisions, by stage.",
  units: "Agent server processes, by the role of their revision.",
  deliveries: "Webhook deliveries that are not done, by state.",
}

const installation = ({ counts }: OperatorView): Family[] =>
  Object.entries(countNames).map(([kind, help]) => ({
    name: `superstep_${kind}`,
    help,
    type: "gauge",
    lines: counts.filter((it) => it.kind === kind).map(({ state, count }) => ({ labels: { state }, value: count })),
  }))

const gauge = (name: string, help: string, lines: readonly Line[]): Family => ({ name, help, type: "gauge", lines })

function pipeline({ pipeline: { progress, stageTimes, ends } }: OperatorView): Family[] {
  const times = stageTimes.flatMap(({ stage, median_seconds, slowest_seconds }) => [
    { labels: { stage, quantile: "0.5" }, value: median_seconds },
    { labels: { stage, quantile: "1" }, value: slowest_seconds },
  ])
  return [
    gauge("superstep_pipeline_waiting", "Revisions that wait although they could be worked on.", [
      { value: progress.waiting },
    ]),
    gauge("superstep_pipeline_oldest_waiting_seconds", "How long the oldest of them has waited.", [
      { value: progress.oldest_waiting_ms / 1000 },
    ]),
    gauge("superstep_pipeline_working", "Revisions that a process works on.", [{ value: progress.claimed }]),
    gauge("superstep_stage_seconds", "Duration of each stage, over the revisions that ended in the last hour.", times),
    gauge(
      "superstep_revisions_ended_last_hour",
      "Revisions that ended in the last hour, by final status and error code.",
      ends.map(({ status, error_code, count }) => ({ labels: { status, error_code: error_code ?? "" }, value: count })),
    ),
  ]
}

function machine({ machine: { disk, certificateExpiresAt, pool, connections }, lag }: OperatorView): Family[] {
  const use = (state: string, value: number) => ({ labels: { state }, value })
  return [
    gauge("superstep_disk_free_bytes", "Free space on the disk of the data folder.", [{ value: disk.freeBytes }]),
    gauge("superstep_disk_size_bytes", "Size of that disk.", [{ value: disk.sizeBytes }]),
    gauge("superstep_database_connections", "Open connections of the database server, including those of agents.", [
      { value: connections.used },
    ]),
    gauge("superstep_database_connections_most", "Most connections that it allows.", [{ value: connections.most }]),
    gauge("superstep_database_pool", "Database connections of the control plane, and statements that wait for one.", [
      use("busy", pool.open - pool.idle),
      use("idle", pool.idle),
      use("waiting", pool.waiting),
    ]),
    gauge(
      "superstep_certificate_expires_at_seconds",
      "When the platform's certificate expires, as a Unix time.",
      certificateExpiresAt === undefined ? [] : [{ value: certificateExpiresAt }],
    ),
    gauge("nodejs_eventloop_lag_seconds", "Delay of the control plane's event loop since the last scrape.", [
      { labels: { quantile: "0.5" }, value: lag.medianSeconds },
      { labels: { quantile: "0.99" }, value: lag.p99Seconds },
      { labels: { quantile: "1" }, value: lag.maxSeconds },
    ]),
  ]
}

function forwarding({ forwarding: state }: OperatorView): Family[] {
  if (!state) return []
  const counter = (name: string, help: string, value: number): Family => ({
    name: `superstep_log_forwarding_${name}`,
    help,
    type: "counter",
    lines: [{ value }],
  })
  return [
    gauge("superstep_log_forwarding_unsent_lines", "Stored log lines that the sink has not accepted yet.", [
      { value: state.unsent },
    ]),
    gauge(
      "superstep_log_forwarding_failing_seconds",
      "How long every request to the sink has failed; 0 when none did.",
      [{ value: state.failing_seconds }],
    ),
    counter("sent_lines_total", "Log lines that the sink accepted.", state.sent_lines),
    counter(
      "rejected_lines_total",
      "Lines that the sink rejected for good, alone or in requests that it accepted.",
      state.rejected_lines,
    ),
    counter("lost_lines_total", "Lines that were deleted before the sink accepted them.", state.lost_lines),
  ]
}

function backups({ backups: state }: OperatorView): Family[] {
  if (!state) return []
  const known = (value: number | null): Line[] => (value === null ? [] : [{ value }])
  return [
    gauge(
      "superstep_backup_last_success_age_seconds",
      "How long ago the last scheduled backup succeeded; absent before the first one.",
      known(state.age_seconds),
    ),
    gauge("superstep_backup_last_size_bytes", "How large it is.", known(state.last_size_bytes)),
    gauge("superstep_backup_late_seconds", "How long ago a scheduled backup was due; 0 while none is.", [
      { value: state.late_seconds },
    ]),
    gauge("superstep_backup_failures", "Consecutive failures since the last success.", [{ value: state.failures }]),
  ]
}

const hostNames = ({ hostNames: all }: OperatorView): Family[] => [
  gauge(
    "superstep_host_name_expires_at_seconds",
    "When the certificate of a host name expires, as a Unix time.",
    all.map(({ host_name, deployment_id, expires_at }) => ({
      labels: { host_name, deployment_id },
      value: expires_at,
    })),
  ),
]

const labelsOf = ({ workspace_id, deployment_id, name }: LatestSample) => ({ workspace_id, deployment_id, name })

function deployments({ samples }: OperatorView): Family[] {
  const ofEach = (name: string, help: string, read: (sample: LatestSample) => number | null): Family => ({
    name: `superstep_deployment_${name}`,
    help,
    type: "gauge",
    lines: samples.flatMap((sample) => {
      const value = read(sample)
      return value === null ? [] : [{ labels: labelsOf(sample), value }]
    }),
  })
  return [
    ofEach("replicas", "Agent servers that serve the deployment.", (it) => it.replicas),
    ofEach("cpu_cores", "Processors that its agent servers and their workers use.", (it) => it.cpu_cores),
    ofEach("memory_bytes", "Memory that its agent servers and their workers use.", (it) => it.rss_bytes),
    ofEach("restarts", "Consecutive crashes of its agent servers and their workers.", (it) => it.restarts),
    ofEach("runs_pending", "Runs that wait.", (it) => it.pending_runs),
    ofEach("runs_active", "Runs that execute.", (it) => it.active_runs),
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
    counter("requests_total", "Requests that were answered, since the edge started.", ({ requests }) => requests),
    counter("errors_total", "Requests that were answered with a status of 500 or above.", ({ errors }) => errors),
    {
      name: "superstep_edge_latency_seconds",
      help: "Time from a request's arrival until the response starts.",
      type: "histogram",
      lines: tallies.flatMap(([deployment_id, { latency_counts: counts, latency_ms: ms, requests: total }]) =>
        latencyLines({ labels: { deployment_id }, boundsMs: latencyBoundsMs, counts, ms, total }),
      ),
    },
  ]
}

function edgeTables({ tables }: OperatorView): Family[] {
  const ofEach = (name: string, help: string, read: (table: EdgeTable) => number | undefined): Family =>
    gauge(
      `superstep_edge_${name}`,
      help,
      tables.flatMap((table) => {
        const value = read(table)
        return value === undefined ? [] : [{ labels: { edge: table.edge }, value }]
      }),
    )
  return [
    ofEach("ready", "Whether new callers are sent to the edge: 1 or 0.", ({ isReady }) => Number(isReady)),
    ofEach("table_generation", "The number of the table that it confirmed last.", ({ generation }) => generation),
    ofEach(
      "table_lag_seconds",
      "How long a newer table has waited for it; 0: it has the newest.",
      ({ behindMs }) => behindMs / 1000,
    ),
  ]
}

function runs({ runs: all }: OperatorView): Family[] {
  const labelled = all.map(({ deployment_id, revision_id, ...tally }) => ({
    labels: { deployment_id, revision_id },
    ...tally,
  }))
  const counter = (name: string, help: string, read: (tally: RunTally) => number): Family => ({
    name: `superstep_revision_${name}`,
    help,
    type: "counter",
    lines: labelled.map(({ labels, ...tally }) => ({ labels, value: read(tally) })),
  })
  return [
    counter("runs_total", "Runs that ended, since the control plane started.", ({ ended }) => ended),
    counter("failed_runs_total", "Runs that ended as error or timeout.", ({ failed }) => failed),
    {
      name: "superstep_revision_run_latency_seconds",
      help: "Time from when a run could start to its end.",
      type: "histogram",
      lines: labelled.flatMap(({ labels, ...tally }) => {
        const { latency_counts: counts, latency_ms: ms } = tally
        return latencyLines({ labels, boundsMs: runLatencyBoundsMs, counts, ms, total: measured(tally) })
      }),
    },
  ]
}

interface Latencies {
  readonly labels: Readonly<Record<string, string>>
  readonly boundsMs: readonly number[]
  readonly counts: readonly number[]
  readonly ms: number
  readonly total: number
}

function latencyLines({ labels, boundsMs, counts, ms, total }: Latencies): Line[] {
  let below = 0
  const buckets = boundsMs.map((bound, index) => {
    below += counts[index] ?? 0
    return { suffix: "_bucket", labels: { ...labels, le: String(bound / 1000) }, value: below }
  })
  return [
    ...buckets,
    { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: total },
    { suffix: "_sum", labels, value: ms / 1000 },
    { suffix: "_count", labels, value: total },
  ]
}

const ownProcess = ({ process, brokenRules }: OperatorView): Family[] => [
  {
    name: "superstep_broken_rules_total",
    help: "Rules of Superstep itself that did not hold, by rule. Each is a bug: report it.",
    type: "counter",
    lines: [...brokenRules].map(([rule, value]) => ({ labels: { rule }, value })),
  },
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
