import assert from "node:assert/strict"
import { test } from "node:test"
import { areMessages, messagesKeyOf, parsedJson, shownMessages, textOf, withFormer } from "./messages.js"

test("a tool's result is shown with its call, whatever the order", () => {
  const shown = shownMessages([
    { type: "human", id: "m1", content: "refund 1042" },
    {
      type: "ai",
      id: "m2",
      content: "Let me look. ",
      tool_calls: [{ id: "c1", name: "look_up", args: { order: "1042" } }],
    },
    { type: "tool", id: "m3", tool_call_id: "c1", content: '{"paid":49}', status: "success" },
    { type: "tool", id: "m4", tool_call_id: "unknown", content: "lost", status: "error" },
  ])

  const speakers = shown.map(({ key, speaker }) => `${key} ${speaker}`)
  assert.deepEqual(speakers, ["m1 human", "m2 ai", "m4 tool"])
  assert.deepEqual(shown[1]?.blocks, [
    { kind: "text", text: "Let me look. " },
    {
      kind: "call",
      id: "c1",
      name: "look_up",
      args: { order: "1042" },
      result: { text: '{"paid":49}', isError: false },
    },
  ])
})

test("content in parts becomes text, reasoning and images; calls in it are not shown twice", () => {
  const image = "data:image/png;base64,AAAA"
  const [message] = shownMessages([
    {
      type: "ai",
      content: [
        { type: "reasoning", reasoning: "Hm. " },
        { type: "thinking", thinking: "Yes." },
        { type: "text", text: "It is " },
        { type: "text", text: "blue." },
        { type: "tool_use", id: "c1", name: "look_up", input: {} },
        { type: "image_url", image_url: { url: image } },
        { type: "image", url: "https://elsewhere.test/pixel.png" },
        { type: "audio", data: "…" },
      ],
      tool_calls: [{ id: "c1", name: "look_up", args: {} }],
    },
  ])

  assert.deepEqual(message?.blocks, [
    { kind: "reasoning", text: "Hm. Yes." },
    { kind: "text", text: "It is blue." },
    { kind: "image", url: image },
    { kind: "other", value: { type: "image", url: "https://elsewhere.test/pixel.png" } },
    { kind: "other", value: { type: "audio", data: "…" } },
    { kind: "call", id: "c1", name: "look_up", args: {} },
  ])
})

test("roles of other libraries are speakers, and a message that removes another one is not shown", () => {
  const shown = shownMessages([
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello" },
    { type: "remove", id: "m1", content: "" },
    { role: "developer", content: "be kind" },
  ])

  const speakers = shown.map(({ speaker }) => speaker)
  assert.deepEqual(speakers, ["human", "ai", "system"])
})

test("an answer that has not begun is there already, so that it can show that it waits", () => {
  assert.deepEqual(shownMessages([{ type: "ai", id: "a", content: "" }])[0]?.blocks, [])
})

test("a message that says the same stays the same object; one that grows, or whose tool has answered, is a new one", () => {
  const call = { id: "c1", name: "look", args: {} }
  const before = [
    { type: "human", id: "1", content: "hi" },
    { type: "ai", id: "2", content: "", tool_calls: [call] },
    { type: "ai", id: "3", content: "He" },
  ]
  const after = [...before.slice(0, 2), { type: "ai", id: "3", content: "Hello" }]
  const former = shownMessages(before)

  const now = withFormer(former, shownMessages(before.map((message) => ({ ...message }))))
  const grown = withFormer(former, shownMessages(after))
  const answer = { type: "tool", tool_call_id: "c1", content: "3" }
  const answered = withFormer(former, shownMessages([...before, answer]))
  const failed = withFormer(answered, shownMessages([...before, { ...answer, status: "error" }]))

  const isKept = (messages: readonly unknown[]) => messages.map((message, at) => message === former[at])
  assert.deepEqual(isKept(now), [true, true, true])
  assert.deepEqual(isKept(grown), [true, true, false])
  assert.deepEqual(isKept(answered), [true, false, true])
  assert.notEqual(failed[1], answered[1])
})

test("text and JSON are readable", () => {
  const other = { type: "other", b: 1 }

  assert.equal(textOf([{ type: "text", text: "a" }, other]), 'a\n{"type":"other","b":1}')
  assert.deepEqual(parsedJson('{"a":1}'), { a: 1 })
  assert.equal(parsedJson("{not json"), "{not json")
  assert.equal(parsedJson("12"), "12")
})

test("a list of objects with content and type is a conversation", () => {
  assert.ok(areMessages([{ type: "human", content: "hi" }]))
  assert.ok(areMessages([]))
  assert.ok(!areMessages([{ title: "a" }]))
  assert.ok(!areMessages("hi"))
})

test("the conversation of a state is found without the graph's schemas", () => {
  const said = [{ type: "human", content: "hi" }]

  assert.equal(messagesKeyOf({ log: ["a"], history: said }), "history")
  assert.equal(messagesKeyOf({ messages: [], n: 1 }), undefined)
  assert.equal(messagesKeyOf(null), undefined)
})

test("files of both languages' blocks have a name, a type and what is in them", () => {
  const content = [
    {
      type: "file",
      source_type: "base64",
      mime_type: "application/pdf",
      data: "JVBERg==",
      metadata: { filename: "a.pdf" },
    },
    { type: "file", mimeType: "text/csv", data: "YSxi" },
    { type: "image", source_type: "base64", mime_type: "image/webp", data: "AAAA" },
    { type: "image", base64: "AAAA", mime_type: "image/gif" },
  ]

  const [message] = shownMessages([{ type: "human", content }])

  assert.deepEqual(message?.blocks, [
    { kind: "file", name: "a.pdf", mimeType: "application/pdf", url: "data:application/pdf;base64,JVBERg==" },
    { kind: "file", name: "file", mimeType: "text/csv", url: "data:text/csv;base64,YSxi" },
    { kind: "image", url: "data:image/webp;base64,AAAA" },
    { kind: "image", url: "data:image/gif;base64,AAAA" },
  ])
})

test("what pretends to be a file becomes no address", () => {
  const content = [
    { type: "file", mime_type: "text/html,<script>", data: "AAAA" },
    { type: "file", mime_type: "text/html", data: "<script>alert(1)</script>" },
    { type: "image", mime_type: "image/svg+xml", data: "AAAA" },
  ]

  const [message] = shownMessages([{ type: "human", content }])

  const kinds = message?.blocks.map(({ kind }) => kind)
  assert.deepEqual(kinds, ["other", "other", "other"])
})
