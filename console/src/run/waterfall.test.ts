import assert from "node:assert/strict"
import { test } from "node:test"
import type { Attempts, RunInfo, StateInfo, StateTask, TimedEvent, TraceSpan } from "./run-data.js"
import { type RunHistory, waterfallOf } from "./waterfall.js"

const second = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString()
const at = (n: number) => Date.parse(second(n))

const run = (fields: Partial<RunInfo> = {}): RunInfo => ({
  run_id: "r1",
  thread_id: "t1",
  assistant_id: "a1",
  status: "success",
  created_at: second(0),
  updated_at: second(10),
  ...fields,
})

const attempts = (fields: Partial<Attempts> = {}): Attempts => ({
  created_at: second(0),
  due_at: second(0),
  now: second(10),
  attempts: [{ attempt: 1, claimed_at: second(2), ended_at: second(10), ending: "success" }],
  ...fields,
})

const task = (name: string, fields: Partial<StateTask> = {}): StateTask => ({
  id: `task-${name}`,
  name,
  interrupts: [],
  ...fields,
})

const ai = (id: string, output: number) => ({
  id,
  type: "ai",
  content: "",
  usage_metadata: { input_tokens: 10, output_tokens: output },
  response_metadata: { model_name: "m1" },
})

interface StateFields {
  readonly tasks?: readonly StateTask[]
  readonly values?: unknown
  readonly source?: string
  readonly runId?: string
  readonly parent?: number
}

/** A state of second `n`; states are newest first. */
const state = (
  n: number,
  step: number,
  { tasks = [], values = {}, source = "loop", runId = "r1", parent }: StateFields = {},
): StateInfo => ({
  values,
  next: tasks.map(({ name }) => name),
  checkpoint: { checkpoint_id: `c${n}` },
  parent_checkpoint: parent === undefined ? null : { checkpoint_id: `c${parent}` },
  metadata: { step, source, run_id: runId },
  created_at: second(n),
  tasks,
})

const twoSteps: readonly StateInfo[] = [
  state(9, 2, { parent: 5, values: { messages: [ai("m1", 5), ai("m2", 7)] } }),
  state(5, 1, {
    parent: 3,
    tasks: [task("write"), task("check")],
    values: { messages: [ai("m1", 5)] },
  }),
  state(3, 0, { parent: 2, tasks: [task("plan")] }),
  state(2, -1, { source: "input", tasks: [task("__start__")] }),
]

const history = (fields: Partial<RunHistory> = {}): RunHistory => ({
  run: run(),
  attempts: attempts(),
  states: twoSteps,
  events: [],
  trace: [],
  ...fields,
})

/** A try of a node, in the trace of attempt 1. */
const nodeSpan = (id: string, name: string, status: TraceSpan["status"]): TraceSpan => ({
  id,
  parent_id: null,
  attempt: 1,
  kind: "node",
  name,
  namespace: `${name}:task-${name}`,
  status,
  started_at: second(3),
  ended_at: second(4),
  first_token_at: null,
  error: status === "error" ? { error: "ValueError", message: "" } : null,
  model: null,
  input_tokens: null,
  output_tokens: null,
  is_cut: false,
  left_out: 0,
})

/** As `node plan 3-5`: its seconds. */
const shown = (given: RunHistory) =>
  waterfallOf(given).rows.map(
    ({ kind, label, start, end }) => `${kind} ${label} ${(start - at(0)) / 1000}-${(end - at(0)) / 1000}`,
  )

test("a run shows its wait, its attempt, its super-steps, and their nodes and model calls", () => {
  const { rows, tokens, waitedMs, executedMs, start, end } = waterfallOf(history())

  assert.deepEqual(shown(history()), [
    "wait Waiting in the queue 0-2",
    "attempt Attempt 1 2-10",
    "step Super-step 1 3-5",
    "node plan 3-5",
    "model m1 3-5",
    "step Super-step 2 5-9",
    "node write 5-9",
    "node check 5-9",
  ])
  assert.deepEqual(tokens, { input: 20, output: 12, calls: 2, unknown: 0 })
  assert.deepEqual([waitedMs, executedMs, start, end], [2000, 8000, at(0), at(10)])
  assert.equal(rows.find(({ label }) => label === "Super-step 2")?.checkpointId, "c5")
})

test("events give nodes and model calls their own times", () => {
  const event = (n: number, name: string, data: unknown): TimedEvent => ({
    id: String(n),
    event: name,
    data,
    created_at: second(n),
  })
  const events = [
    event(6, "tasks", { id: "task-write", name: "write", input: {}, triggers: [] }),
    event(7, "messages|sub:1", [{ id: "m2", content: "a" }, {}]),
    event(8, "messages", [{ id: "m2", content: "b" }, {}]),
    event(9, "tasks", { id: "task-write", name: "write", result: {} }),
  ]
  const states = twoSteps.map((one) => ({
    ...one,
    tasks: one.tasks.map((given) =>
      given.name === "write" ? { ...given, result: { messages: [ai("m2", 7)] } } : given,
    ),
  }))

  const { rows } = waterfallOf(history({ events, states }))

  const found = rows
    .filter(({ label, start }) => start >= at(5) && ["write", "m1", "check"].includes(label))
    .map(({ label, start, end, isExact }) => `${label} ${start - at(0)}-${end - at(0)} ${isExact}`)
  assert.deepEqual(found, ["write 6000-9000 true", "m1 7000-8000 true", "check 5000-9000 false"])
})

test("a run whose worker died has two lanes, with the wait between them and each step in its own", () => {
  const lost = attempts({
    attempts: [
      { attempt: 1, claimed_at: second(1), ended_at: second(6), ending: "worker_died" },
      { attempt: 2, claimed_at: second(7), ended_at: second(10), ending: "success" },
    ],
  })

  const { rows } = waterfallOf(history({ attempts: lost }))

  const lanes = rows.filter(({ kind }) => kind !== "node" && kind !== "model")
  const notes = lanes.map(({ label, state: is, note = "" }) => `${label}: ${is} ${note}`.trim())
  assert.deepEqual(notes, [
    "Waiting in the queue: done",
    "Attempt 1: lost its worker process died",
    "Super-step 1: done",
    "Super-step 2: lost",
    "Waiting for attempt 2: done",
    "Attempt 2: done finished",
    "Super-step 2: done",
  ])
})

test("the first error is the node that failed, with its message", () => {
  const failed = [
    state(5, 1, {
      parent: 3,
      tasks: [
        task("write", { error: JSON.stringify({ name: "ValueError", message: "no paper" }) }),
        task("check", { error: JSON.stringify({ name: "AbortError", message: "aborted" }), result: null }),
      ],
    }),
    state(3, 0, { parent: 2, tasks: [task("plan")] }),
    state(2, -1, { source: "input", tasks: [task("__start__")] }),
  ]
  const given = history({
    run: run({ status: "error" }),
    states: failed,
    attempts: attempts({ attempts: [{ attempt: 1, claimed_at: second(2), ended_at: second(10), ending: "error" }] }),
  })

  const { firstError, rows } = waterfallOf(given)

  const last = rows.slice(-2).map(({ label, state: is }) => `${label} ${is}`)
  assert.deepEqual(last, ["write error", "check interrupted"])
  const { kind, label, error, checkpointId } = firstError ?? {}
  assert.deepEqual([kind, label, error, checkpointId], ["node", "write", "ValueError: no paper", "c5"])
})

test("a run that ended without a failed node shows the error of its attempt", () => {
  const given = history({
    run: run({ status: "timeout" }),
    states: [],
    attempts: attempts({ attempts: [{ attempt: 1, claimed_at: second(2), ended_at: second(10), ending: "timeout" }] }),
  })

  assert.equal(waterfallOf(given).firstError?.label, "Attempt 1")
})

test("a running run ends now, and an interrupted node waits for an answer", () => {
  const states = [
    state(3, 0, { parent: 2, tasks: [task("ask")] }),
    state(2, -1, { source: "input", tasks: [task("__start__")] }),
  ]
  const running = attempts({
    now: second(8),
    attempts: [{ attempt: 1, claimed_at: second(2), ended_at: null, ending: null }],
  })
  const interrupted = states.map((one) => ({
    ...one,
    tasks: one.tasks.map((given) => (given.name === "ask" ? { ...given, interrupts: [{ value: "go on?" }] } : given)),
  }))

  const now = waterfallOf(history({ run: run({ status: "running" }), attempts: running, states })).rows.at(-1)
  const then = waterfallOf(history({ run: run({ status: "interrupted" }), states: interrupted })).rows.at(-1)

  assert.deepEqual([now?.label, now?.state, now?.end], ["ask", "running", at(8)])
  assert.deepEqual([then?.label, then?.state, then?.note], ["ask", "interrupted", "waits for an answer"])
})

test("a run that has not started only waits, and says when it is due", () => {
  const given = history({
    run: run({ status: "pending" }),
    states: [],
    attempts: attempts({ due_at: second(4), attempts: [] }),
  })

  const [row] = waterfallOf(given).rows

  assert.deepEqual(shown(given), ["wait Waiting in the queue 4-10"])
  assert.deepEqual([row?.state, row?.note], ["waiting", `due ${second(4)}`])
})

test("a resumed step begins with its run, not with the checkpoint that it goes on from", () => {
  const states = [
    state(9, 1, { parent: 1, values: {} }),
    { ...state(1, 0, { runId: "earlier", tasks: [task("ask")] }), created_at: "2025-12-31T00:00:00Z" },
  ]

  const rows = shown(history({ states }))

  assert.deepEqual(rows.at(-1), "node ask 2-9")
})

test("a run that failed before it saved a checkpoint shows the step that it was to run again", () => {
  const states = [
    state(5, 2, { runId: "other", parent: 3, tasks: [task("later")] }),
    state(3, 1, { runId: "other", tasks: [task("write", { error: "no paper" })] }),
  ]
  const failed = attempts({ attempts: [{ attempt: 1, claimed_at: second(6), ended_at: second(7), ending: "error" }] })
  const again = (configurable: object) =>
    waterfallOf(
      history({ run: run({ status: "error", kwargs: { config: { configurable } } }), states, attempts: failed }),
    ).rows.at(-1)

  const first = again({ checkpoint_id: "c3" })
  assert.deepEqual([first?.label, first?.error], ["write", "no paper"])
  assert.equal(again({})?.label, "later")
})

test("a trace takes the place of super-steps, and a run without models in it has the tokens of its messages", () => {
  const { rows, superSteps, tokens } = waterfallOf(history({ trace: [nodeSpan("2", "plan", "success")] }))

  const kinds = rows.map(({ kind, isExact }) => `${kind} ${isExact}`)
  assert.deepEqual(kinds, ["wait true", "attempt true", "node true"])
  assert.deepEqual([superSteps, tokens.output, rows[2]?.checkpointId], [2, 12, "c3"])
})

test("a node that was tried again and succeeded is not the one that failed first", () => {
  const trace = [
    nodeSpan("1", "plan", "error"),
    nodeSpan("2", "plan", "success"),
    nodeSpan("3", "write", "error"),
    nodeSpan("4", "write", "error"),
  ]

  const { firstError } = waterfallOf(history({ trace }))

  assert.deepEqual([firstError?.span?.name, firstError?.key, firstError?.error], ["write", "span-3", "ValueError"])
})
