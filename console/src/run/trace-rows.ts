/** The trace of an attempt as rows of a waterfall: graphs, nodes, models and tools with their own times. Pure. */
import { durationText } from "../frame/time-text.js"
import type { Tokens } from "./model-calls.js"
import type { Row, RowState } from "./row.js"
import type { TraceSpan } from "./run-data.js"

export interface TracedAttempt {
  readonly end: number
  readonly isOver: boolean
  /** The checkpoint before each task of the outermost graph, by the task's id. */
  readonly checkpoints: ReadonlyMap<string, string>
}

/** @param spans  of one attempt, in the order in which they began: a span comes after the one around it */
export function traceRows(spans: readonly TraceSpan[], attempt: TracedAttempt): Row[] {
  const depths = new Map<string, number>()
  const tokens = tokensBySpan(spans)
  const rows = spans.map((span): Row => {
    const depth = span.parent_id === null ? 1 : 1 + (depths.get(span.parent_id) ?? 0)
    depths.set(span.id, depth)
    const start = Date.parse(span.started_at)
    return {
      key: `span-${span.id}`,
      kind: span.kind,
      label: span.parent_id === null ? "Graph" : span.name,
      start,
      end: Math.max(start, span.ended_at === null ? attempt.end : Date.parse(span.ended_at)),
      state: stateOf(span, attempt),
      depth,
      isExact: true,
      note: noteOf(span),
      error: span.error === null ? undefined : [span.error.error, span.error.message].filter(Boolean).join(": "),
      checkpointId: attempt.checkpoints.get(taskOf(span)),
      tokens: tokens.get(span.id),
      span,
    }
  })
  return inTree(rows, spans)
}

/** What a model took, and for each span around it the sum. */
function tokensBySpan(spans: readonly TraceSpan[]): Map<string, Tokens> {
  const byId = new Map(spans.map((span) => [span.id, span]))
  const sums = new Map<string, Tokens>()
  for (const model of spans) {
    if (model.kind !== "model") continue
    const { input_tokens: input, output_tokens: output } = model
    const isUnknown = input === null && output === null
    for (let span: TraceSpan | undefined = model; span; span = byId.get(span.parent_id ?? "")) {
      const sum = sums.get(span.id) ?? noTokens
      sums.set(span.id, {
        input: sum.input + (input ?? 0),
        output: sum.output + (output ?? 0),
        calls: sum.calls + 1,
        unknown: sum.unknown + (isUnknown ? 1 : 0),
      })
    }
  }
  return sums
}

const noTokens: Tokens = { input: 0, output: 0, calls: 0, unknown: 0 }

/** The tokens of all outermost spans. */
export const traceTokens = (rows: readonly Row[]): Tokens =>
  rows
    .filter(({ span }) => span?.parent_id === null)
    .reduce<Tokens>(
      (sum, { tokens = noTokens }) => ({
        input: sum.input + tokens.input,
        output: sum.output + tokens.output,
        calls: sum.calls + tokens.calls,
        unknown: sum.unknown + tokens.unknown,
      }),
      noTokens,
    )

function stateOf({ status }: TraceSpan, { isOver }: TracedAttempt): RowState {
  if (status === "running") return isOver ? "lost" : "running"
  if (status === "success") return "done"
  return status === "error" ? "error" : "interrupted"
}

function noteOf(span: TraceSpan): string | undefined {
  const { first_token_at: token, started_at: start, status, left_out: leftOut } = span
  if (leftOut > 0) return `${leftOut} later parts were left out`
  if (status === "interrupted") return "waits for an answer"
  if (status === "cancelled") return "stopped"
  return token === null ? undefined : `first token after ${durationText(Date.parse(token) - Date.parse(start))}`
}

/** The id of the task of a node in the outermost graph: `agent:<task>`. */
const taskOf = ({ kind, namespace }: TraceSpan): string =>
  kind === "node" && !namespace.includes("|") ? namespace.slice(namespace.indexOf(":") + 1) : ""

/** Each row below the one around it; the rows of nodes that executed side by side do not mix. */
function inTree(rows: readonly Row[], spans: readonly TraceSpan[]): Row[] {
  const ids = new Set(spans.map(({ id }) => id))
  const children = new Map<string, Row[]>()
  for (const row of rows) {
    const parent = row.span?.parent_id ?? ""
    const around = ids.has(parent) ? parent : ""
    children.set(around, [...(children.get(around) ?? []), row])
  }
  const below = (id: string): Row[] => (children.get(id) ?? []).flatMap((row) => [row, ...below(row.span?.id ?? "?")])
  return below("")
}
