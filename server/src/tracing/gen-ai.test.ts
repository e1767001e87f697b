import assert from "node:assert/strict"
import { test } from "node:test"
import type { Span } from "@superstep/protocol/worker/frames"
import { genAiSpan } from "./gen-ai.js"

const claim = { runId: "r1", threadId: "t1", graphId: "agent", attempt: 1 }
const model: Span = {
  span_id: "m",
  number: 2,
  parent: 1,
  kind: "model",
  name: "ChatOpenAI",
  namespace: "agent:1",
  started_us: 1,
  ended_us: 2,
  status: "success",
}

const sent = (input: unknown, output: unknown) => {
  const { attributes } = genAiSpan(model, JSON.stringify({ input, output }), claim)
  const messages = (name: string): unknown => JSON.parse(String(attributes[name]))
  return [messages("gen_ai.input.messages"), messages("gen_ai.output.messages")]
}

test("a model that completes a text is asked by the user, and answers as the assistant", () => {
  assert.deepEqual(sent(["Once upon"], "a time"), [
    [{ role: "user", parts: [{ type: "text", content: "Once upon" }] }],
    [{ role: "assistant", parts: [{ type: "text", content: "a time" }] }],
  ])
})

test("messages have the conventions' roles and parts, with calls of tools and their results", () => {
  const call = { id: "c1", name: "add", args: { a: 1 } }
  const image = { type: "image_url", image_url: "x" }
  const [input, output] = sent(
    [
      { type: "system", content: "Be brief" },
      { type: "human", content: [{ type: "text", text: "1 + 1?" }, image] },
      { type: "tool", content: "2", tool_call_id: "c1" },
    ],
    { type: "ai", content: "", tool_calls: [call], response_metadata: { finish_reason: "tool_calls" } },
  )

  assert.deepEqual(input, [
    { role: "system", parts: [{ type: "text", content: "Be brief" }] },
    { role: "user", parts: [{ type: "text", content: "1 + 1?" }, image] },
    { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "2" }] },
  ])
  const part = { type: "tool_call", id: "c1", name: "add", arguments: { a: 1 } }
  assert.deepEqual(output, [{ role: "assistant", parts: [part], finish_reason: "tool_calls" }])
})

test("the model that was asked and the one that answered have their own names", () => {
  const asked = genAiSpan({ ...model, model: "gpt-5", response_model: "gpt-5-2025-08-07" }, "", claim)
  const unasked = genAiSpan({ ...model, response_model: "scripted-1" }, "", claim)
  const names = ({ attributes }: typeof asked) => ["request", "response"].map((of) => attributes[`gen_ai.${of}.model`])

  assert.equal(asked.name, "chat gpt-5")
  assert.deepEqual(names(asked), ["gpt-5", "gpt-5-2025-08-07"])
  assert.equal(unasked.name, "chat scripted-1")
  assert.deepEqual(names(unasked), [undefined, "scripted-1"])
})
