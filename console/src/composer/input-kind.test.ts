import assert from "node:assert/strict"
import { test } from "node:test"
import { chatKeyOf } from "./input-kind.js"

test("a graph that takes messages and needs nothing else is a chat", () => {
  const messages = { type: "array", langgraph_type: "messages" }

  assert.equal(chatKeyOf({ properties: { messages } }), "messages")
  assert.equal(chatKeyOf({ properties: { log: { type: "array" }, history: messages } }), "history")
  assert.equal(
    chatKeyOf({ properties: { messages: { title: "Messages", type: "array" } }, required: ["messages"] }),
    "messages",
  )
  assert.equal(chatKeyOf({ properties: { messages, topic: { type: "string" } }, required: ["topic"] }), undefined)
  assert.equal(chatKeyOf({ properties: { topic: { type: "string" } } }), undefined)
  assert.equal(chatKeyOf(null), undefined)
})
