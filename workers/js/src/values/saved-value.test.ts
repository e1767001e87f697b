import assert from "node:assert/strict"
import { test } from "node:test"
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages"
import { MemorySaver, Send } from "@langchain/langgraph"
import type { Serde } from "../loading/langgraph.js"
import { messages } from "../testing/messages.js"
import { savedText } from "./saved-text.js"
import { savedValue } from "./saved-value.js"

const { serde } = new MemorySaver() as { serde: Serde }

/** The output of LangGraph's own serializer. */
const written = async (value: unknown): Promise<string> => Buffer.from((await serde.dumpsTyped(value))[1]).toString()

/** The same serializer, which fails when it reads anything but a single message. */
function strictSerde(): Serde {
  class Strict {
    dumpsTyped = serde.dumpsTyped.bind(serde)
    loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
      if (!String(data).startsWith('{"lc":1')) throw new Error(`the serialiser was asked to read ${data}`)
      return serde.loadsTyped(type, data)
    }
  }
  return new Strict()
}

const holes: unknown[] = [1]
holes[2] = 3

const quick: Readonly<Record<string, unknown>> = {
  text: "one\ntwo \u2028 \ud800",
  numbers: [0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY],
  nothing: null,
  "no value": undefined,
  fields: { a: { b: [true, null, { c: "" }] }, "": 1, none: undefined, list: [undefined, 1] },
  "a list with holes": holes,
  messages: Object.values(messages),
  "a message in a field": { last: new AIMessage("x"), all: { nested: [new HumanMessage("y")] } },
}

for (const [name, value] of Object.entries(quick)) {
  test(`a value is written like LangGraph does, and read without its serializer: ${name}`, async () => {
    const expected = await written(value)

    const text = savedText(value)
    const read = await savedValue(strictSerde(), text ?? "")

    assert.equal(text, expected)
    assert.deepEqual(read, await serde.loadsTyped("json", expected))
    assert.equal(await written(read), await written(await serde.loadsTyped("json", expected)))
  })
}

const ring: Record<string, unknown> = { list: [] }
ring.list = [ring]
const messageOfRing = new HumanMessage("x")
messageOfRing.additional_kwargs = { ring }

const slow: Readonly<Record<string, unknown>> = {
  "a set, a map and a pattern": { set: new Set([1]), map: new Map([["a", 1]]), pattern: /x/g },
  "a date": { at: new Date(0) },
  "an error": [new RangeError("too far")],
  bytes: { bytes: new Uint8Array([1, 2]) },
  "a send": [new Send("node", { a: 1 })],
  "a plain object that calls itself a send": { lg_name: "Send", node: "n", args: 1, more: 2 },
  "an object of a class": {
    at: new (class Place {
      x = 1
    })(),
  },
  "an object with its own form": { toJSON: () => "own" },
  "a function": { call: () => 1, list: [() => 1] },
  "a cycle": ring,
  "a message with a cycle": [messageOfRing],
  "a message with a message in a field": [
    new ToolMessage({ content: "", tool_call_id: "1", artifact: new AIMessage("x") }),
  ],
  "a message with what looks like LangChain's": [
    new HumanMessage({ content: "x", additional_kwargs: { a: { lc: 1 } } }),
  ],
  "a message with a date": [new HumanMessage({ content: "x", additional_kwargs: { at: new Date(0) } })],
}

for (const [name, value] of Object.entries(slow)) {
  test(`LangGraph's serializer handles values that need it: ${name}`, async () => {
    const expected = await written(value)

    const text = savedText(value)
    const read = await savedValue(serde, expected)

    assert.ok(text === undefined || text === expected, `${text} is not ${expected}`)
    assert.deepEqual(read, await serde.loadsTyped("json", expected))
  })
}

const texts: Readonly<Record<string, string>> = {
  "white space and escapes": ' { "l\\u0063" : 2 , "type" : "undefined" } ',
  "an escaped object in a message":
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"x","additional_kwargs":{"a":{"__lc_escaped__":{"lc":1}}}}}',
  "a message without fields": '[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"]}]',
  "a record that means nothing": '{"lc":3,"type":"constructor"}',
  "a field of another version":
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"x","my_own_field2":1}}',
  "a field with separators":
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"x","my_own field":1}}',
}

for (const [name, text] of Object.entries(texts)) {
  test(`JSON of other versions and tools is read like LangGraph does: ${name}`, async () => {
    const expected = await serde.loadsTyped("json", text).catch((error: Error) => error.message)

    const read = await savedValue(serde, text).catch((error: Error) => error.message)

    assert.deepEqual(read, expected)
  })
}

const human = (ref: unknown) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", "HumanMessage"],
  kwargs: { content: "hi", additional_kwargs: { ref } },
})
const noClass = {
  lc: 1,
  type: "constructor",
  id: ["nope", "Nope"],
  kwargs: { inner: { lc: 1, type: "secret", id: ["X"] } },
}
const noMessage = { lc: 1, type: "constructor", id: ["langchain_core", "messages", "NoMessage"], kwargs: {} }

for (const [name, ref] of Object.entries({ noClass, noMessage, undefined: { lc: 2, type: "undefined" } })) {
  test(`plain data that looks like a record of a class stays plain data, in a message and elsewhere: ${name}`, async () => {
    const message = await savedValue(serde, JSON.stringify([human({ __lc_escaped__: ref }), human({ plain: 1 })]))
    const [first, second] = message as HumanMessage[]

    assert.ok(first instanceof HumanMessage && second instanceof HumanMessage)
    assert.deepEqual([first.content, first.additional_kwargs], ["hi", { ref }])
    assert.deepEqual(second.additional_kwargs, { ref: { plain: 1 } })
    assert.deepEqual(await savedValue(serde, await written([first])), [first])
  })
}

test("a value with a record that the serialiser cannot make is read with the rest of it", async () => {
  const text = JSON.stringify({
    a: [noClass, noMessage],
    b: human({ plain: noClass }),
    c: [{ lc: 2, type: "undefined" }],
  })

  const { a, b, c } = (await savedValue(serde, text)) as { a: unknown; b: HumanMessage; c: unknown }

  assert.deepEqual([a, c], [[noClass, noMessage], [undefined]])
  assert.ok(b instanceof HumanMessage)
  assert.deepEqual(b.additional_kwargs, { ref: { plain: noClass } })
})

test("plain data in a map, beside a set, and with the names of marks, is read as it was", async () => {
  const like = { lc: 5, keep: "me" }
  const message = new HumanMessage({ content: "x", additional_kwargs: { like } })
  const plain = { __lc_escaped__: { a: 1 }, note: "y" }
  const value = {
    map: new Map([["k", message]]),
    set: new Set([1]),
    plain,
    marked: { __lc_escaped__: { "superstep:inert": 0 } },
  }

  const read = (await savedValue(serde, await written(value))) as typeof value

  assert.deepEqual([read.plain, read.marked, read.set], [plain, value.marked, value.set])
  assert.deepEqual(read.map.get("k")?.additional_kwargs, { like })
  const inMap = { lc: 2, type: "constructor", id: ["Map"], method: null, args: [[["k", noClass]]], kwargs: {} }
  assert.deepEqual(await savedValue(serde, JSON.stringify([inMap])), [new Map([["k", noClass]])])
})

test("LangGraph writes messages of classes with their own format", () => {
  class Marked extends HumanMessage {
    override toJSON() {
      return super.toJSON()
    }
  }

  assert.equal(savedText([new Marked("x")]), undefined)
})

test("a user's key __proto__ stays, which the serialiser would lose", async () => {
  const text = '{"a":{"__proto__":{"b":[1,{"__proto__":2}]},"c":3}}'

  const read = await savedValue(strictSerde(), text)

  assert.equal(savedText(read), text)
  assert.equal(JSON.stringify(read), text)
})
