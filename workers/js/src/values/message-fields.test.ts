import assert from "node:assert/strict"
import { test } from "node:test"
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages"
import { messageFields } from "./message-fields.js"

const called = { name: "search", args: { query: "x" }, id: "c1", type: "tool_call" as const }

const messages: Record<string, BaseMessage> = {
  human: new HumanMessage("hello"),
  "human with parts": new HumanMessage({ content: [{ type: "text", text: "hi" }], id: "m1", name: "Ada" }),
  system: new SystemMessage({ content: "be kind", additional_kwargs: { some_key: { Nested: 1 } } }),
  ai: new AIMessage({ content: "x", tool_calls: [called] }),
  chunk: new AIMessageChunk({
    content: "x",
    tool_call_chunks: [{ name: "search", args: '{"query":', id: "c1", index: 0, type: "tool_call_chunk" }],
  }),
  "text chunk": new AIMessageChunk("t1 "),
  tool: new ToolMessage({ content: "found", tool_call_id: "c1", artifact: { deep: [1, 2] }, status: "error" }),
  "tool chunk": new ToolMessageChunk({ content: "fo", tool_call_id: "c1" }),
  chat: new ChatMessage("hi", "critic"),
  function: new FunctionMessage({ content: "42", name: "answer" }),
  remove: new RemoveMessage({ id: "m1" }),
}

for (const [name, message] of Object.entries(messages)) {
  test(`a message's fields are those of LangChain: ${name}`, () => {
    const { type, data } = message.toDict()

    const fields = messageFields(message)

    assert.deepEqual(fields, { ...data, type })
    assert.deepEqual(Object.keys(fields), Object.keys({ ...data, type }))
  })
}

test("a class with its own serialization is used", () => {
  class Marked extends HumanMessage {
    override toDict() {
      const { type, data } = super.toDict()
      return { type, data: { ...data, marked: true } }
    }
  }
  class Secretive extends HumanMessage {
    override get lc_secrets() {
      return { content: "CONTENT" }
    }
  }

  assert.equal(Reflect.get(messageFields(new Marked("x")), "marked"), true)
  assert.notEqual(Reflect.get(messageFields(new Secretive("x")), "content"), "x")
})
