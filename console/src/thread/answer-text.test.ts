import assert from "node:assert/strict"
import { test } from "node:test"
import { answerText } from "./answer-text.js"

test("simple answers and decisions are shown in words", () => {
  const decisions = { decisions: [{ type: "approve" }, { type: "reject", message: "too dear" }] }

  assert.equal(answerText(false), "No")
  assert.equal(answerText("gladly"), "gladly")
  assert.equal(answerText(decisions), "Approved, Rejected: too dear")
  assert.equal(answerText([{ type: "ignore", args: null }]), "Rejected")
  assert.equal(answerText([{ type: "response", args: "tomorrow" }]), "Answered: tomorrow")
})

test("answers that carry more are left to JSON", () => {
  assert.equal(answerText({ decisions: [{ type: "edit", edited_action: { name: "pay", args: {} } }] }), undefined)
  assert.equal(answerText({ approve: true }), undefined)
  assert.equal(answerText(["a"]), undefined)
  assert.equal(answerText([]), undefined)
})
