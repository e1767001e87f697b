import assert from "node:assert/strict"
import { test } from "node:test"
import { type RuleAnswer, RuleCaller, type RuleQuestion } from "./rule-caller.js"

const ada = { identity: "ada", display_name: "Ada", is_authenticated: true, permissions: ["agents"] }

/** A caller whose handlers give this answer, and the questions that they received. */
function callerWith(handlers: readonly string[], answer: (question: RuleQuestion) => RuleAnswer) {
  const asked: RuleQuestion[] = []
  const authorize = async (question: RuleQuestion) => {
    asked.push(question)
    return answer(question)
  }
  return { asked, caller: new RuleCaller(ada, { handlers: () => handlers, authorize }) }
}

const value = { thread_id: "t1", metadata: { a: 1 } }

test("an invalid filter and metadata that is not an object are errors that name the handler", async () => {
  const answers: RuleAnswer[] = [
    { value, filter: { owner: { $regex: "." } } },
    { value: { metadata: "mine" }, filter: undefined },
    { value: { metadata: ["mine"] }, filter: undefined },
    { value: "mine", filter: undefined },
    { value: undefined, filter: undefined },
  ]
  for (const answer of answers) {
    const { caller } = callerWith(["*"], () => answer)

    await assert.rejects(caller.authorize("threads:read", value), /handler for "\*"/)
  }
})
