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

/** Each question with its answer: `really? "no"`, and whether it is open, or its answer made the run fail. */
const said = (all: ReturnType<typeof exchanges>) =>
  all.map(({ interrupt, answer, isOpen }) =>
    [interrupt.value, answer && JSON.stringify(answer.value), answer?.failed && "(failed)", isOpen && "(open)"]
      .filter(Boolean)
      .join(" "),
  )

const open = [checkpoint("1", "r1", { tasks: [asks("really?")] })]
const answered = [checkpoint("1", "r1", { tasks: [hasAsked] }), checkpoint("2", "r2", { parent: "1" })]

test("a question keeps its answer, who gave it and when", () => {
  const [named] = exchanges(answered, [answer("r2", { [id]: false }, { user_id: "ada", person: { name: "Ada L." } })])
  const [exchange] = exchanges(answered, [answer("r2", { [id]: false }, { user_id: "ada" })])

  assert.equal(named?.answer?.by, "Ada L.")
  assert.equal(exchange?.checkpointId, "1")
  assert.equal(exchange.interrupt.value, "really?")
  assert.deepEqual(exchange.answer, { value: false, at: "r2 began", by: "ada", runId: "r2", failed: false })
})

const saved = checkpoint("2", "r2", { parent: "1" })
const byOther = checkpoint("2", "r3", { parent: "1" })
const whoFirst = answer("r2", "Ada", { interrupts: { t1: [{ id, value: "who?" }] }, status: "interrupted" })
const bothAsk = { t1: [{ id, value: "a?" }], t2: [{ id: otherId, value: "b?" }] }
const otherAsks = { id: "t2", name: "other", interrupts: [{ id: otherId, value: "b?" }] }
const branches = [...answered, checkpoint("3", "r3", { parent: "1" })]
const noOf = (run: string) => answer(run, { [id]: "no" })
const yesOf = (run: string) => answer(run, { [id]: "yes" })

for (const [what, history, answers, shown, at] of [
  [
    "an answer without the id of its question belongs to the only one",
    answered,
    [answer("r2", { approve: true })],
    ['really? {"approve":true}'],
  ],
  ["a question is open until a run answers it", open, [], ["really? (open)"]],
  ["a question is answered while that run executes", open, [{ ...yesOf("r2"), status: "running" }], ['really? "yes"']],
  [
    "an answer that made the run fail stays, and the question is open again",
    open,
    [{ ...noOf("r2"), status: "error" }],
    ['really? "no" (failed)', "really? (open)"],
  ],
  [
    "two questions of one task keep their answers",
    [checkpoint("1", "r1", { tasks: [hasAsked] }), byOther],
    [answer("r3", { [id]: true }), whoFirst],
    ['who? "Ada"', "really? true"],
  ],
  [
    "of two tasks that ask at once, each gets its own answer",
    [checkpoint("1", "r1", { tasks: [hasAsked, otherAsks] })],
    [answer("r2", { [id]: 1 }, { interrupts: bothAsk, status: "interrupted" })],
    ["a? 1", "b? (open)"],
  ],
  [
    "a question that the checkpoint still has is not asked again once the thread has gone on with its answer",
    [...open, saved],
    [yesOf("r2")],
    ['really? "yes"'],
  ],
  [
    "a second question of a task is without an answer when the thread went on with something else",
    [...open, byOther],
    [whoFirst],
    ['who? "Ada"', "really?"],
  ],
  ["a branch shows the answer that made it", branches, [noOf("r2"), yesOf("r3")], ['really? "no"'], "2"],
  ["another branch shows its own", branches, [noOf("r2"), yesOf("r3")], ['really? "yes"'], "3"],
  ["a checkpoint of the past shows its question as it was then", answered, [noOf("r2")], ["really? (open)"], "1"],
  ["a branch that left the question has no answer", branches, [noOf("r2")], ["really?"]],
  ["a thread that went on without an answer shows that there was none", [...open, saved], [], ["really?"]],
] as const)
  test(what, () => assert.deepEqual(said(exchanges(history, answers, at)), shown))

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
