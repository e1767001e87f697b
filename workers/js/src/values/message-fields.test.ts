import assert from "node:assert/strict"
import { test } from "node:test"
import { HumanMessage } from "@langchain/core/messages"
import { messages } from "../testing/messages.js"
import { messageFields } from "./message-fields.js"

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
