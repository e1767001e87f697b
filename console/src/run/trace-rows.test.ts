import assert from "node:assert/strict"
import { test } from "node:test"
import type { TraceSpan } from "./run-data.js"
import { type TracedAttempt, traceRows, traceTokens } from "./trace-rows.js"

const begun = Date.UTC(2026, 0, 1)
const after = (ms: number) => new Date(begun + ms).toISOString()

/** A span of attempt 1, from its first to its second time, in milliseconds. */
const span = (
  id: string,
  parent: string | null,
  kind: TraceSpan["kind"],
  fields: Partial<TraceSpan> = {},
): TraceSpan => ({
  id,
  parent_id: parent,
  attempt: 1,
  kind,
  name: `${kind} ${id}`,
  namespace: "",
  status: "success",
  started_at: after(0),
  ended_at: after(10),
  first_token_at: null,
  error: null,
  model: null,
  input_tokens: null,
  output_tokens: null,
  is_cut: false,
  left_out: 0,
  ...fields,
})

const attempt: TracedAttempt = { end: begun + 100, isOver: true, checkpoints: new Map([["t1", "c1"]]) }

const twoNodes = [
  span("1", null, "graph"),
  span("2", "1", "node", { namespace: "ask:t1" }),
  span("3", "1", "node", { namespace: "look_up:t2" }),
  span("4", "3", "tool"),
  span("5", "2", "model", { input_tokens: 3, output_tokens: 4, first_token_at: after(2) }),
  span("6", "2", "model", { input_tokens: 9, output_tokens: 3 }),
]

test("nodes that executed side by side are shown one after the other, each with what it did", () => {
  const rows = traceRows(twoNodes, attempt)

  const labels = rows.map(({ label, depth }) => `${depth} ${label}`)
  assert.deepEqual(labels, ["1 Graph", "2 node 2", "3 model 5", "3 model 6", "2 node 3", "3 tool 4"])
  assert.ok(rows.every(({ isExact, start, end }) => isExact && start === begun && end === begun + 10))
})

test("a span has the tokens of the models in it", () => {
  const rows = traceRows(twoNodes, attempt)

  const tokens = rows.map((row) => row.tokens && [row.tokens.input, row.tokens.output, row.tokens.calls])
  assert.deepEqual(tokens, [[12, 7, 2], [12, 7, 2], [3, 4, 1], [9, 3, 1], undefined, undefined])
  assert.equal(traceTokens(rows).input, 12)
  assert.match(rows[2]?.note ?? "", /^first token after/)
})

test("a node of the outermost graph has the checkpoint from which it can be run again, others have none", () => {
  const inner = span("7", "2", "node", { namespace: "ask:t1|inner:t1" })

  const rows = traceRows([...twoNodes, inner], attempt)

  const checkpoints = rows.filter(({ kind }) => kind === "node").map(({ checkpointId }) => checkpointId)
  assert.deepEqual(checkpoints, ["c1", undefined, undefined])
})

test("what had not ended executes while its attempt does, and was lost after it", () => {
  const open = [span("1", null, "graph", { status: "running", ended_at: null })]

  const executing = traceRows(open, { ...attempt, isOver: false })
  const lost = traceRows(open, attempt)

  assert.deepEqual([executing[0]?.state, lost[0]?.state, lost[0]?.end], ["running", "lost", begun + 100])
})

test("a failed node has its error, and one that was interrupted says that it waits", () => {
  const failed = { status: "error", error: { error: "RangeError", message: "no such order" } } as const

  const rows = traceRows([span("1", null, "node", failed), span("2", null, "node", { status: "interrupted" })], attempt)

  const shown = rows.map(({ state, error, note }) => `${state}, ${error}, ${note}`)
  assert.deepEqual(shown, [
    "error, RangeError: no such order, undefined",
    "interrupted, undefined, waits for an answer",
  ])
})
