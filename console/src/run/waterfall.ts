/**
 * A run as rows of a waterfall: waiting, attempts, and what they did. Pure.
 *
 * Attempts come from the queue, and what they did from the run's trace. Where there is none, super-steps from the thread's checkpoints, exact times of nodes and
 * model calls from logged events; where no event tells when a node began or ended, its row spans its super-step and says so (`isExact`).
 */
import { endingText } from "./endings.js"
import { errorText, isAborted } from "./error-text.js"
import { type EventTimes, eventTimesOf, type Span } from "./event-times.js"
import { type ModelCall, modelCallsOf, sumOf, type Tokens } from "./model-calls.js"
import type { Row, RowState } from "./row.js"
import type { AttemptInfo, Attempts, RunInfo, StateInfo, StateTask, TimedEvent, TraceSpan } from "./run-data.js"
import { type Step, stepsOf } from "./steps.js"
import { traceRows, traceTokens } from "./trace-rows.js"

export interface Waterfall {
  readonly start: number
  readonly end: number
  readonly rows: readonly Row[]
  /** The first row with an error. */
  readonly firstError: Row | undefined
  readonly tokens: Tokens
  readonly superSteps: number
  readonly waitedMs: number
  readonly executedMs: number
}

export interface RunHistory {
  readonly run: RunInfo
  readonly attempts: Attempts
  /** The states of the run, newest first, then those from which it went on. */
  readonly states: readonly StateInfo[]
  readonly events: readonly TimedEvent[]
  /** In the order in which its spans began; empty if traces are off, or it was deleted. */
  readonly trace: readonly TraceSpan[]
}

export function waterfallOf({ run, attempts, states, events, trace }: RunHistory): Waterfall {
  const now = Date.parse(attempts.now)
  const spans = attempts.attempts.map((attempt) => spanOf(attempt, { run, attempts, now }))
  const steps = stepsOf(run, states)
  const times = eventTimesOf(events)
  const lastEnd = spans.at(-1)?.end
  const checkpoints = new Map(
    steps.flatMap(({ tasks, checkpointId = "" }) => tasks.map(({ id }) => [id, checkpointId] as const)),
  )
  const rowsIn = (span: AttemptSpan, n: number): Row[] => {
    const traced = trace.filter(({ attempt }) => attempt === span.attempt)
    const isOver = span.ended_at !== null || (run.status !== "running" && run.status !== "pending")
    if (traced.length > 0) return traceRows(traced, { end: span.end, isOver, checkpoints })
    return stepRows(stepsIn(n, spans, steps), span, { run, times, isLast: n === spans.length - 1 })
  }
  const waits = waitRows(attempts, spans, { run, now })
  const rows = [
    ...spans.flatMap((span, n) => [...(waits[n] ?? []), attemptRow(span), ...rowsIn(span, n)]),
    ...(waits[spans.length] ?? []),
  ]
  const start = Date.parse(attempts.created_at)
  const ends = rows.map(({ end }) => end)
  const traced = traceTokens(rows)
  return {
    start,
    end: Math.max(start + 1, lastEnd ?? start, ...ends),
    rows,
    firstError: firstErrorOf(rows),
    // A node that calls a model without LangChain still returns a message with its tokens.
    tokens: traced.calls > 0 ? traced : sumOf(steps.flatMap(({ calls }) => calls)),
    superSteps: steps.length,
    waitedMs: rows.filter(({ kind }) => kind === "wait").reduce((sum, row) => sum + row.end - row.start, 0),
    executedMs: spans.reduce((sum, { start: from, end }) => sum + end - from, 0),
  }
}

/** The node that failed first, except one that was tried again and succeeded; else any other row. */
function firstErrorOf(rows: readonly Row[]): Row | undefined {
  const succeeded = new Set(rows.filter(({ state }) => state === "done").map(taskOf))
  const failed = rows.filter((row) => row.state === "error" && !succeeded.has(taskOf(row)))
  return failed.find(({ kind }) => kind === "node") ?? failed[0]
}

/** Of a node in the trace its task, which each of its tries has; of other rows the row. */
const taskOf = ({ kind, span, key }: Row): string =>
  kind === "node" && span !== undefined ? `${span.attempt} ${span.namespace}` : key

interface AttemptSpan extends AttemptInfo {
  readonly start: number
  readonly end: number
}

function spanOf(
  attempt: AttemptInfo,
  { run, attempts, now }: { run: RunInfo; attempts: Attempts; now: number },
): AttemptSpan {
  const start = Date.parse(attempt.claimed_at ?? attempts.created_at)
  const isOver = run.status !== "running" && run.status !== "pending"
  const end = attempt.ended_at === null ? (isOver ? Date.parse(run.updated_at) : now) : Date.parse(attempt.ended_at)
  return { ...attempt, start, end: Math.max(start, end) }
}

/** Waiting before each attempt, and after the last one if the run waits again. */
function waitRows(
  { due_at, created_at }: Attempts,
  spans: readonly AttemptSpan[],
  { run, now }: { run: RunInfo; now: number },
): Row[][] {
  const due = Math.max(Date.parse(due_at), Date.parse(created_at))
  const isWaiting = run.status === "pending"
  const froms = [Math.min(due, spans[0]?.start ?? due), ...spans.map(({ end }) => end)]
  const isScheduled = due > Date.parse(created_at)
  return froms.map((from, n) => {
    const next = spans[n]
    if (!next && !isWaiting) return []
    const end = Math.max(from, next?.start ?? now)
    const label = n === 0 ? "Waiting in the queue" : `Waiting for attempt ${n + 1}`
    const note = n === 0 && isScheduled ? `due ${new Date(due).toISOString()}` : undefined
    return [
      row({
        key: `wait-${n}`,
        kind: "wait",
        label,
        start: from,
        end,
        state: next ? "done" : "waiting",
        depth: 0,
        note,
      }),
    ]
  })
}

function attemptRow({ attempt, start, end, ending }: AttemptSpan): Row {
  const state: RowState =
    ending === null
      ? "running"
      : ending === "success"
        ? "done"
        : ending === "interrupted"
          ? "interrupted"
          : ending === "error" || ending === "timeout"
            ? "error"
            : "lost"
  return row({
    key: `attempt-${attempt}`,
    kind: "attempt",
    label: `Attempt ${attempt}`,
    start,
    end,
    state,
    depth: 0,
    note: endingText(ending),
  })
}

/** The steps that an attempt finished, and the one in which it was lost. */
function stepsIn(n: number, spans: readonly AttemptSpan[], steps: readonly Step[]): Step[] {
  const own = steps.filter((step) => attemptAt(spans, step) === n)
  const next = steps.find((step) => attemptAt(spans, step) > n)
  if (!next || next.begunAt >= (spans[n]?.end ?? 0)) return own
  return [...own, { ...next, endedAt: undefined, calls: [], isLost: true }]
}

/** The attempt in which a step ended, by its checkpoint, else by time. The clocks of a worker and of the database may differ a little: the nearest one. */
function attemptAt(spans: readonly AttemptSpan[], { attempt, begunAt, endedAt }: Step): number {
  const named = spans.findIndex((span) => span.attempt === attempt)
  if (named >= 0) return named
  if (endedAt === undefined) return spans.length - 1
  const inside = spans.findIndex(({ start, end }) => endedAt >= start && endedAt <= end)
  if (inside >= 0) return inside
  const next = spans.findIndex(({ end }) => end >= Math.max(begunAt, endedAt))
  return next >= 0 ? next : spans.length - 1
}

interface StepPlace {
  readonly run: RunInfo
  readonly times: EventTimes
  /** Whether this is the run's last attempt. */
  readonly isLast: boolean
}

function stepRows(steps: readonly Step[], attempt: AttemptSpan, place: StepPlace): Row[] {
  return steps.flatMap((step) => {
    const start = Math.min(Math.max(step.begunAt, attempt.start), attempt.end)
    const end = Math.max(start, Math.min(step.endedAt ?? attempt.end, attempt.end))
    const states = step.tasks.map((task) => stateOf(task, step, place))
    const state = (["error", "lost", "interrupted", "running"] as const).find((one) => states.includes(one)) ?? "done"
    const label = `Super-step ${step.step}`
    const prefix = `${attempt.attempt}-${step.checkpointId}`
    const stepRow = row({
      key: `step-${prefix}`,
      kind: "step",
      label,
      start,
      end,
      state,
      depth: 1,
      checkpointId: step.checkpointId,
      tokens: tokensOf(step.calls),
    })
    return [
      stepRow,
      ...step.tasks.flatMap((task, n) =>
        nodeRows(task, {
          step,
          state: states[n] ?? "done",
          start,
          end,
          times: step.isLost ? noTimes : place.times,
          prefix,
        }),
      ),
    ]
  })
}

// The events of a task that was executed again tell of the later attempt.
const noTimes: EventTimes = { tasks: new Map(), messages: new Map() }

function stateOf(task: StateTask, step: Step, { run, isLast }: StepPlace): RowState {
  if (step.isLost) return "lost"
  if (task.error && isLast) return isAborted(task.error) ? "interrupted" : "error"
  if (step.endedAt !== undefined || (task.result !== undefined && task.result !== null)) return "done"
  if (task.interrupts?.length) return "interrupted"
  if (run.status === "running") return "running"
  if (run.status === "pending") return "lost"
  // Beside a node that failed, another one left no result and no error of its own.
  const isCauseKnown = step.tasks.some(({ error }) => error)
  return run.status === "error" && !isCauseKnown ? "error" : "interrupted"
}

interface NodePlace {
  readonly step: Step
  readonly state: RowState
  readonly start: number
  readonly end: number
  readonly times: EventTimes
  readonly prefix: string
}

function nodeRows(task: StateTask, { step, state, start, end, times, prefix }: NodePlace): Row[] {
  const span = times.tasks.get(task.id)
  const isExact = isKnown(span) || (span?.start !== undefined && state === "running")
  const from = isExact ? clamped(span?.start ?? start, start, end) : start
  const to = isExact ? clamped(span?.end ?? end, from, end) : end
  const returned = step.isLost ? [] : modelCallsOf(task.result)
  // One node alone made all calls of its step. Of several nodes each call belongs to the one that returned it.
  const calls = step.tasks.length === 1 && step.calls.length > 0 ? step.calls : returned
  const nodeRow = row({
    key: `node-${prefix}-${task.id}`,
    kind: "node",
    label: task.name,
    start: from,
    end: to,
    state,
    depth: 2,
    isExact,
    error: state === "error" ? errorText(task.error) : undefined,
    note: state === "interrupted" ? interruptionOf(task) : undefined,
    checkpointId: step.checkpointId,
    tokens: tokensOf(calls),
  })
  const callRows = calls.map((call, n) => {
    const logged = times.messages.get(call.messageId)
    const chunks = isKnown(logged) ? logged : undefined
    const callStart = clamped(chunks?.start ?? from, from, to)
    const label = call.model ?? "Model call"
    const note = call.toolCalls.length > 0 ? `calls ${call.toolCalls.join(", ")}` : undefined
    return row({
      key: `model-${prefix}-${task.id}-${n}`,
      kind: "model",
      label,
      start: callStart,
      end: clamped(chunks?.end ?? to, callStart, to),
      state: "done",
      depth: 3,
      isExact: chunks !== undefined,
      note,
      tokens: tokensOf([call]),
    })
  })
  return [nodeRow, ...callRows]
}

function interruptionOf({ interrupts, error }: StateTask): string | undefined {
  if (interrupts?.length) return "waits for an answer"
  return error && isAborted(error) ? "aborted with the others" : undefined
}

// Events are logged in batches with one time, so a short node may seem to have begun when it ended.
const isKnown = (span: Span | undefined): boolean =>
  span?.start !== undefined && span.end !== undefined && span.end > span.start

const clamped = (value: number, least: number, most: number): number =>
  Math.min(Math.max(value, least), Math.max(least, most))

const tokensOf = (calls: readonly ModelCall[]): Tokens | undefined => (calls.length === 0 ? undefined : sumOf(calls))

type RowFields = Pick<Row, "key" | "kind" | "label" | "start" | "end" | "state" | "depth"> & Partial<Row>

const row = (fields: RowFields): Row => ({
  isExact: true,
  note: undefined,
  error: undefined,
  checkpointId: undefined,
  tokens: undefined,
  ...fields,
})
