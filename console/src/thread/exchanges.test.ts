import assert from "node:assert/strict"
import { test } from "node:test"
import { type HistoryItem, treeOf } from "../time-travel/checkpoint-tree.js"
import { lineOf } from "./branches.js"
import { exchangesOf, type GivenAnswer } from "./exchanges.js"
import { answerComing } from "./thread-answers.js"

const id = "0123456789abcdef0123456789abcdef"
const otherId = "f".repeat(32)

const checkpoint = (
  checkpoint_id: string,
  run_id: string,
  { parent, tasks = [] }: { parent?: string; tasks?: HistoryItem["tasks"] } = {},
): HistoryItem => ({
  checkpoint: { checkpoint_id },
  parent_checkpoint: parent === undefined ? null : { checkpoint_id: parent },
  next: [],
  metadata: { run_id },
  values: {},
  ...(tasks && { tasks }),
})

const asks = (value: unknown) => ({ id: "t1", name: "ask", interrupts: [{ id, value }] })
const hasAsked = { id: "t1", name: "ask", interrupts: [], result: {} }

const answer = (run_id: string, resume: unknown, given: Partial<GivenAnswer> = {}): GivenAnswer => ({
  run_id,
  interrupts: { t1: [{ id, value: "really?" }] },
  resume,
  answered_at: `${run_id} began`,
  user_id: null,
  status: "success",
  ...given,
})

function exchanges(history: readonly HistoryItem[], answers: readonly GivenAnswer[], at?: string) {
  const { items } = treeOf(history)
  const byId = new Map(items.map((item) => [item.id, item]))
  return exchangesOf(byId, lineOf(byId, at === undefined ? items[0] : byId.get(at)), answers)
}

const said = (all: ReturnType<typeof exchanges>) =>
  all.map(({ interrupt, answer, isOpen }) => [interrupt.value, answer?.value, isOpen])

const open = [checkpoint("1", "r1", { tasks: [asks("really?")] })]
const answered = [checkpoint("1", "r1", { tasks: [hasAsked] }), checkpoint("2", "r2", { parent: "1" })]

test("a question keeps its answer, who gave it and when", () => {
  const [named] = exchanges(answered, [answer("r2", { [id]: false }, { user_id: "ada", person: { name: "Ada L." } })])
  assert.equal(named?.answer?.by, "Ada L.")
  const [exchange] = exchanges(answered, [answer("r2", { [id]: false }, { user_id: "ada" })])

  assert.equal(exchange?.checkpointId, "1")
  assert.equal(exchange.interrupt.value, "really?")
  assert.deepEqual(exchange.answer, { value: false, at: "r2 began", by: "ada", runId: "r2", failed: false })
})

test("an answer without the id of its question belongs to the only one", () => {
  assert.deepEqual(said(exchanges(answered, [answer("r2", { approve: true })])), [
    ["really?", { approve: true }, false],
  ])
})

test("a question is open until a run answers it, and answered while that run executes", () => {
  assert.deepEqual(said(exchanges(open, [])), [["really?", undefined, true]])
  assert.deepEqual(said(exchanges(open, [answer("r2", { [id]: "yes" }, { status: "running" })])), [
    ["really?", "yes", false],
  ])
})

test("an answer that made the run fail stays, and the question is open again", () => {
  const both = exchanges(open, [answer("r2", { [id]: "no" }, { status: "error" })])

  assert.equal(both[0]?.answer?.failed, true)
  assert.deepEqual(said(both), [
    ["really?", "no", false],
    ["really?", undefined, true],
  ])
})

test("two questions of one task keep their answers", () => {
  const first = answer("r2", "Ada", { interrupts: { t1: [{ id, value: "who?" }] }, status: "interrupted" })
  const history = [checkpoint("1", "r1", { tasks: [hasAsked] }), checkpoint("2", "r3", { parent: "1" })]

  assert.deepEqual(said(exchanges(history, [answer("r3", { [id]: true }), first])), [
    ["who?", "Ada", false],
    ["really?", true, false],
  ])
})

test("of two tasks that ask at once, each gets its own answer", () => {
  const both = { t1: [{ id, value: "a?" }], t2: [{ id: otherId, value: "b?" }] }
  const tasks = [hasAsked, { id: "t2", name: "other", interrupts: [{ id: otherId, value: "b?" }] }]
  const history = [checkpoint("1", "r1", { tasks })]

  assert.deepEqual(said(exchanges(history, [answer("r2", { [id]: 1 }, { interrupts: both, status: "interrupted" })])), [
    ["a?", 1, false],
    ["b?", undefined, true],
  ])
})

test("a question that the checkpoint still has is not asked again once the thread has gone on with its answer", () => {
  const history = [...open, checkpoint("2", "r2", { parent: "1" })]

  assert.deepEqual(said(exchanges(history, [answer("r2", { [id]: "yes" })])), [["really?", "yes", false]])
})

test("a second question of a task is without an answer when the thread went on with something else", () => {
  const first = answer("r2", "Ada", { interrupts: { t1: [{ id, value: "who?" }] }, status: "interrupted" })

  assert.deepEqual(said(exchanges([...open, checkpoint("2", "r3", { parent: "1" })], [first])), [
    ["who?", "Ada", false],
    ["really?", undefined, false],
  ])
})

test("each branch shows the answer that made it", () => {
  const history = [...answered, checkpoint("3", "r3", { parent: "1" })]
  const answers = [answer("r2", { [id]: "no" }), answer("r3", { [id]: "yes" })]

  assert.deepEqual(said(exchanges(history, answers, "2")), [["really?", "no", false]])
  assert.deepEqual(said(exchanges(history, answers, "3")), [["really?", "yes", false]])
})

test("a checkpoint of the past shows its question as it was then, without the later answer", () => {
  const answers = [answer("r2", { [id]: "no" })]

  assert.deepEqual(said(exchanges(answered, answers, "1")), [["really?", undefined, true]])
  const leaving = [...answered, checkpoint("3", "r3", { parent: "1" })]
  assert.deepEqual(said(exchanges(leaving, answers)), [["really?", undefined, false]])
})

test("a thread that went on without an answer shows that there was none", () => {
  assert.deepEqual(said(exchanges([...open, checkpoint("2", "r2", { parent: "1" })], [])), [
    ["really?", undefined, false],
  ])
})

test("an answer shows while its run brings it", () => {
  const { items } = treeOf(open)
  const run = { run_id: "r2", created_at: "now", kwargs: { command: { resume: { [id]: 0 } } } }

  assert.deepEqual(answerComing({ ...run, status: "pending" }, items[0]), {
    ...answer("r2", { [id]: 0 }, { status: "running" }),
    answered_at: "now",
  })
  assert.equal(answerComing({ ...run, status: "success" }, items[0]), undefined)
  assert.equal(answerComing({ ...run, status: "running", kwargs: { input: {} } }, items[0]), undefined)
})
