import assert from "node:assert/strict"
import { test } from "node:test"
import { runInNewContext } from "node:vm"
import { AIMessage } from "@langchain/core/messages"
import { describeError } from "../errors/describe-error.js"
import { serialise } from "./serialise.js"

test("a message is flat, with its type", () => {
  const message = new AIMessage({ content: "hello", id: "m1" })

  const wire = JSON.parse(serialise({ messages: [message] }))

  assert.deepEqual(wire.messages, [
    {
      content: "hello",
      id: "m1",
      type: "ai",
      tool_calls: [],
      invalid_tool_calls: [],
      additional_kwargs: {},
      response_metadata: {},
    },
  ])
})

test("values that JSON cannot represent are converted", () => {
  const wire = serialise({
    big: 12345678901234567890n,
    none: Number.NaN,
    map: new Map([["a", { b: 1n }]]),
    pairs: new Map([[1, "a"]]),
    set: new Set([1, new Set([2])]),
    date: new Date(0),
    error: new RangeError("too far"),
    foreign: runInNewContext("new TypeError('from elsewhere')"),
    bytes: Buffer.from("foo"),
    absent: undefined,
    call: () => 1,
  })

  assert.deepEqual(JSON.parse(wire), {
    big: "12345678901234567890",
    none: null,
    map: { a: { b: "1" } },
    pairs: [[1, "a"]],
    set: [1, [2]],
    date: "1970-01-01T00:00:00.000Z",
    error: { error: "RangeError", message: "too far" },
    foreign: { error: "TypeError", message: "from elsewhere" },
    bytes: "Zm9v",
  })
})

test("the line has no line break, whatever the text contains, and a top-level undefined is null", () => {
  assert.equal(serialise(undefined), "null")
  assert.equal(serialise("one\ntwo\r\u0000"), '"one\\ntwo\\r\\u0000"')
})

test("a cycle is marked where it closes, and a repeated object is not a cycle", () => {
  const shared = { text: "twice" }
  const ring: Record<string, unknown> = { shared, again: shared, list: [], set: new Set() }
  ring.self = ring
  ring.list = [ring]

  assert.deepEqual(JSON.parse(serialise({ ring })), {
    ring: { shared, again: shared, list: ["[Circular]"], set: [], self: "[Circular]" },
  })
})

test("a value that fails to serialize is replaced by the reason, and the others are kept", () => {
  const value = {
    fine: 1,
    broken: {
      toJSON() {
        throw new Error("not today")
      },
    },
  }

  assert.deepEqual(JSON.parse(serialise(value)), { fine: 1, broken: "[Unserialisable: not today]" })
})

test("any thrown value can be described", () => {
  assert.deepEqual(describeError(new TypeError("x")), { error: "TypeError", message: "x" })
  assert.deepEqual(describeError("text"), { error: "Error", message: "text" })
  assert.deepEqual(describeError({ code: 1 }), { error: "Error", message: '{"code":1}' })
  assert.deepEqual(describeError(undefined), { error: "Error", message: "null" })
})

test("a hole in a list is null, also beside a message", () => {
  const list: unknown[] = []
  list[1] = new AIMessage({ content: "hello", id: "m1" })
  list.length = 3

  const wire = JSON.parse(serialise(list))

  assert.deepEqual([wire.length, wire[0], wire[1].content, wire[2]], [3, null, "hello", null])
})
