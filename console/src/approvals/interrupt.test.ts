import assert from "node:assert/strict"
import { test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk/client"
import { QuestionChanged, sendAnswers } from "./answers.js"
import { answerOf, canApprove, canReject, type Decision, questionOf, titleOf } from "./interrupt.js"
import { answeringRuns, type InterruptedThread, waitingOf } from "./waiting.js"

const refund = {
  action_request: { action: "refund", args: { amount: 12 } },
  config: { allow_accept: true, allow_edit: true, allow_respond: true, allow_ignore: false },
  description: "Refund order 7?",
}

const answers = (value: unknown, ...made: Decision[]) => {
  const question = questionOf({ value })
  assert.ok(question.kind === "actions")
  return answerOf(question, made)
}

test("a HumanInterrupt offers what its config allows, alone or in a list, and is answered as a list", () => {
  const question = questionOf({ value: [refund] })

  assert.ok(question.kind === "actions")
  assert.deepEqual(question.actions[0]?.allowed, ["approve", "edit", "respond"])
  assert.deepEqual([canApprove(question), canReject(question), titleOf(question)], [true, false, "refund"])
  assert.deepEqual(answers(refund, { type: "approve" }), [
    { type: "accept", args: { action: "refund", args: { amount: 12 } } },
  ])
  assert.deepEqual(answers([refund], { type: "edit", args: { amount: 5 } }), [
    { type: "edit", args: { action: "refund", args: { amount: 5 } } },
  ])
  assert.deepEqual(answers(refund, { type: "respond", text: "ask her" }), [{ type: "response", args: "ask her" }])
  assert.deepEqual(answers(refund, { type: "reject", text: "" }), [{ type: "ignore", args: null }])
})

test("the middleware's request has one decision for each tool call, in the spelling of its language", () => {
  const python = {
    action_requests: [
      { name: "send", args: { to: "a" }, description: "Send it" },
      { name: "drop", args: {} },
    ],
    review_configs: [
      { action_name: "send", allowed_decisions: ["approve", "edit", "reject"] },
      { action_name: "drop", allowed_decisions: ["reject"] },
    ],
  }
  const js = {
    actionRequests: [{ name: "send", args: { to: "a" } }],
    reviewConfigs: [{ actionName: "send", allowedDecisions: ["approve", "edit"] }],
  }
  const question = questionOf({ value: python })

  assert.ok(question.kind === "actions")
  const allowed = question.actions.map(({ allowed }) => allowed)
  assert.deepEqual(allowed, [["approve", "edit", "reject"], ["reject"]])
  assert.equal(canApprove(question), false)
  assert.deepEqual(answers(python, { type: "edit", args: { to: "b" } }, { type: "reject", text: "no" }), {
    decisions: [
      { type: "edit", edited_action: { name: "send", args: { to: "b" } } },
      { type: "reject", message: "no" },
    ],
  })
  assert.deepEqual(answers(js, { type: "edit", args: { to: "b" } }), {
    decisions: [{ type: "edit", editedAction: { name: "send", args: { to: "b" } } }],
  })
  assert.deepEqual(answers(js, { type: "approve" }), { decisions: [{ type: "approve" }] })
})

test("a schema, a list of options, a text and any other value are asked in their own way", () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } } }

  assert.deepEqual(questionOf({ value: { question: "Go on?", id: 1 }, response_schema: schema }), {
    kind: "schema",
    text: "Go on?",
    details: { id: 1 },
    schema,
  })
  assert.deepEqual(questionOf({ value: { q: "Which?", options: ["a", "b"] } }), {
    kind: "choice",
    text: "Which?",
    details: undefined,
    options: ["a", "b"],
  })
  assert.deepEqual(questionOf({ value: "Really?" }), { kind: "open", text: "Really?", details: undefined })
  assert.deepEqual(questionOf({ value: [1, 2] }), { kind: "open", text: undefined, details: [1, 2] })
  assert.equal(titleOf(questionOf({})), "An answer is needed")
  assert.equal(questionOf({ value: { action_requests: [] } }).kind, "open")
})

const thread = (id: string, interrupts: InterruptedThread["interrupts"]): InterruptedThread => ({
  thread_id: id,
  updated_at: "2026-01-01T00:00:00Z",
  metadata: { graph_id: "agent", assistant_id: "a1" },
  interrupts,
})

test("all answers of a thread travel in one run, by the ids of their interrupts", () => {
  const waiting = waitingOf([
    thread("t1", { task1: [{ id: "i1", value: "a" }], task2: [{ id: "i2", value: "b" }] }),
    thread("t2", { task: [{ id: "i3", value: "c" }] }),
  ])

  const questions = waiting.map(({ interrupt }) => interrupt)

  const runs = answeringRuns(waiting.map((one) => ({ waiting: one, answer: one.title })))

  assert.equal(new Set(waiting.map(({ key }) => key)).size, 3)
  assert.deepEqual(runs, [
    { threadId: "t1", assistantId: "a1", resume: { i1: "a", i2: "b" }, questions: questions.slice(0, 2) },
    { threadId: "t2", assistantId: "a1", resume: { i3: "c" }, questions: questions.slice(2) },
  ])
})

test("an interrupt without an id is answered by its value alone, and a falsy answer is an answer", () => {
  const [one] = waitingOf([thread("t1", { task: [{ value: "go on?" }] })])

  assert.ok(one)
  assert.deepEqual(answeringRuns([{ waiting: one, answer: false }]), [
    { threadId: "t1", assistantId: "a1", resume: false, questions: [{ value: "go on?" }] },
  ])
})

test("the next question of the same task is another one", () => {
  const keyOf = (value: unknown) => waitingOf([thread("t1", { task: [{ id: "i1", value }] })])[0]?.key

  assert.equal(keyOf({ call: "a" }), keyOf({ call: "a" }))
  assert.notEqual(keyOf({ call: "a" }), keyOf({ call: "b" }))
})

test("an answer is sent only while its thread asks what was seen", async () => {
  const asking = (value: unknown) => thread("t1", { task: [{ id: "i1", value }] })
  const [waiting] = waitingOf([asking({ refund: 20 })])
  assert.ok(waiting)
  const answered = async (now: InterruptedThread) => {
    const client = { threads: { get: async () => now }, runs: { create: async () => ({ run_id: "r1" }) } }
    const [sent] = await sendAnswers(client as unknown as Client, [{ waiting, answer: "yes" }])
    return sent?.runId ?? sent?.error
  }

  assert.equal(await answered(asking({ refund: 20 })), "r1")
  for (const now of [asking({ refund: 20_000 }), thread("t1", {})])
    assert.ok((await answered(now)) instanceof QuestionChanged)
})

test("a thread that does not name its assistant is left to be refused, beside those that do", () => {
  const nameless = { ...thread("t1", { task: [{ id: "i1", value: "a" }] }), metadata: {} }
  const waiting = waitingOf([nameless, thread("t2", { task: [{ id: "i2", value: "b" }] })])

  const runs = answeringRuns(waiting.map((one) => ({ waiting: one, answer: "yes" })))

  const assistants = runs.map(({ assistantId }) => assistantId)
  assert.deepEqual(assistants, [undefined, "a1"])
})

test("threads without interrupts give no rows", () => {
  assert.deepEqual(waitingOf([thread("t1", {}), thread("t2", null)]), [])
})
