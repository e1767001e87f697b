import assert from "node:assert/strict"
import { test } from "node:test"
import { inputsFor, NoInput, withMessageId } from "./inputs.js"

const messages = { type: "array", items: {} }
const text = { type: "string" }

test("a graph with messages gets one in each run", () => {
  const inputs = inputsFor({ properties: { messages, user: text } }, "chat")

  assert.equal(inputs.length, 2)
  for (const input of inputs) assert.deepEqual(Object.keys(input), ["messages"])
})

test("texts that are needed get words, also beside messages", () => {
  assert.deepEqual(Object.keys(inputsFor({ properties: { question: text, topic: text } }, "g")[0] ?? {}), [
    "question",
    "topic",
  ])
  const beside = inputsFor({ properties: { messages, user: text }, required: ["messages", "user"] }, "g")
  assert.deepEqual(Object.keys(beside[0] ?? {}), ["messages", "user"])
})

test("for anything else an input is asked for, with an example", () => {
  const schema = { properties: { file: text, pages: { type: "integer" }, how: { enum: ["fast"] } } }

  assert.throws(
    () => inputsFor(schema, "reader"),
    new NoInput(
      `the graph reader needs more than a message or a text: give an input, for example --graph reader --input '{"file":"…","pages":1,"how":"fast"}'`,
    ),
  )
  assert.throws(() => inputsFor(null, "reader"), /does not say what its input is.*"messages"/)
})

test("the last message gets the id, and an input without messages stays", () => {
  const input = { messages: [{ content: "a" }, { content: "b", id: "old" }], n: 1 }

  assert.deepEqual(withMessageId(input, "new"), { messages: [{ content: "a" }, { content: "b", id: "new" }], n: 1 })
  assert.deepEqual(withMessageId({ messages: "a text" }, "new"), { messages: "a text" })
})
