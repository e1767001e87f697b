/** The events of a message, from chunks as providers' packages make them. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { pythonEventsOf, skip } from "../testing/python-messages.js"
import { type ContentMessage, slicesOf, wholeBlocks } from "./content-slices.js"
import { MessageStream } from "./message-stream.js"

type Event = Record<string, unknown>

/** All events of a message whose chunks arrive at these times. */
function eventsOf(chunks: readonly ContentMessage[], everyMs = 100): Event[] {
  const stream = new MessageStream({ id: "run-1" })
  const texts = [stream.start()]
  for (const [index, chunk] of chunks.entries()) {
    for (const slice of slicesOf(chunk)) texts.push(...stream.content(slice, index * everyMs))
    if (chunk.usage_metadata) texts.push(stream.usage(chunk.usage_metadata))
  }
  return [...texts, ...stream.finish()].map((text) => {
    const { id, run_id, ...event } = JSON.parse(text)
    assert.deepEqual([id, run_id], ["run-1", "1"])
    return event
  })
}

const finished = (events: readonly Event[]) =>
  events.filter(({ event }) => event === "content-block-finish").map(({ content }) => content)

const deltas = (events: readonly Event[]) =>
  events.filter(({ event }) => event === "content-block-delta").map(({ index, delta }) => [index, delta])

const call = (index: number | undefined, args: string, id?: string, name?: string) => ({
  type: "tool_call_chunk",
  index,
  args,
  id,
  name,
})

test("text in pieces gives one block", () => {
  const events = eventsOf([{ content: "" }, { content: "Hel" }, { content: "lo" }])

  assert.deepEqual(events, [
    { event: "message-start" },
    { event: "content-block-start", index: 0, content: { type: "text", text: "" } },
    { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: "Hel" } },
    { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: "lo" } },
    { event: "content-block-finish", index: 0, content: { type: "text", text: "Hello" } },
    { event: "message-finish", reason: "stop" },
  ])
})

test("OpenAI: text and two tool calls, whose number repeats the text's place", () => {
  const events = eventsOf([
    { content: "Sure" },
    { content: "", tool_call_chunks: [call(0, "", "c1", "add")] },
    { content: "", tool_call_chunks: [call(0, '{"a":')] },
    { content: "", tool_call_chunks: [call(0, "1}")] },
    { content: "", tool_call_chunks: [call(1, "{}", "c2", "now")] },
    { content: "", usage_metadata: { input_tokens: 2, output_tokens: 3, input_token_details: { cache_read: 1 } } },
    { content: "", usage_metadata: { input_tokens: 1, output_tokens: 0, input_token_details: { cache_read: 1 } } },
  ])

  assert.deepEqual(finished(events), [
    { type: "text", text: "Sure" },
    { type: "tool_call", id: "c1", name: "add", args: { a: 1 } },
    { type: "tool_call", id: "c2", name: "now", args: {} },
  ])
  const usage = { input_tokens: 3, output_tokens: 3, input_token_details: { cache_read: 2 } }
  assert.deepEqual(events.at(-1), { event: "message-finish", reason: "stop", usage })
})

test("arguments are sent as a whole, and at most every 50 ms", () => {
  const chunks = [call(0, "", "c1", "add"), call(0, "{"), call(0, '"a"'), call(0, ":1"), call(0, "}")]
  const messages = chunks.map((chunk) => ({ content: "", tool_call_chunks: [chunk] }))

  const [slow, quick] = [deltas(eventsOf(messages, 50)), deltas(eventsOf(messages, 20))]

  const delta = (args: string) => [
    0,
    { type: "block-delta", fields: { type: "tool_call_chunk", id: "c1", name: "add", args } },
  ]
  assert.deepEqual(slow, [delta("{"), delta('{"a"'), delta('{"a":1'), delta('{"a":1}')])
  assert.deepEqual(quick, [delta("{"), delta('{"a":1}')])
})

test("Anthropic: thinking with a signature, text, and a tool call that its content repeats", () => {
  const events = eventsOf([
    { content: [{ type: "thinking", thinking: "Hm", index: 0 }] },
    { content: [{ type: "thinking", thinking: "m", index: 0 }] },
    { content: [{ type: "thinking", signature: "abc", index: 0 }] },
    { content: [{ type: "text", text: "Yes", index: 1 }] },
    {
      content: [{ type: "tool_use", id: "t", name: "add", input: "", index: 2 }],
      tool_call_chunks: [call(2, "", "t", "add")],
    },
    { content: [{ type: "input_json_delta", input: "{}", index: 2 }], tool_call_chunks: [call(2, "{}")] },
  ])

  assert.deepEqual(finished(events), [
    { type: "reasoning", reasoning: "Hmm", extras: { signature: "abc" } },
    { type: "text", text: "Yes" },
    { type: "tool_call", id: "t", name: "add", args: {} },
  ])
  assert.deepEqual(deltas(events)[0], [0, { type: "reasoning-delta", reasoning: "Hm" }])
})

test("Google: whole tool calls without numbers stay apart", () => {
  const events = eventsOf([
    { content: [{ type: "text", text: "I " }] },
    {
      content: [
        { type: "text", text: "see" },
        { type: "functionCall", functionCall: {} },
      ],
      tool_call_chunks: [call(undefined, '{"a":1}', "g1", "add"), call(undefined, "{}", "g2", "add")],
    },
  ])

  assert.deepEqual(finished(events), [
    { type: "text", text: "I see" },
    { type: "tool_call", id: "g1", name: "add", args: { a: 1 } },
    { type: "tool_call", id: "g2", name: "add", args: {} },
  ])
})

test("arguments that are not JSON give an invalid tool call", () => {
  const [block] = finished(eventsOf([{ content: "", tool_call_chunks: [call(0, '{"a"', "c", "add")] }]))

  const error = "The arguments are not valid JSON."
  assert.deepEqual(block, { type: "invalid_tool_call", id: "c", name: "add", args: '{"a"', error })
})

test("data comes in deltas, an image by its address does not", () => {
  const events = eventsOf([
    { content: [{ type: "audio", id: "a", mime_type: "audio/wav", data: "AA" }] },
    { content: [{ type: "audio", id: "a", data: "BB" }] },
    { content: [{ type: "image", url: "https://example.com/x.png" }] },
  ])

  assert.deepEqual(finished(events), [
    { type: "audio", id: "a", mime_type: "audio/wav", data: "AABB" },
    { type: "image", url: "https://example.com/x.png" },
  ])
  assert.deepEqual(
    deltas(events).map(([, delta]) => (delta as Event).type),
    ["data-delta", "data-delta"],
  )
})

test("a whole message has LangChain's blocks, and each tool call once", () => {
  const tool_calls = [{ id: "c", name: "add", args: { a: 1 } }]

  const plain = wholeBlocks({ content: "Sure", tool_calls })
  const translated = wholeBlocks({ content: "", tool_calls, contentBlocks: [{ type: "tool_call", ...tool_calls[0] }] })

  const block = { type: "tool_call", id: "c", name: "add", args: { a: 1 } }
  assert.deepEqual([plain, translated], [[{ type: "text", text: "Sure" }, block], [block]])
})

test("a message that fails ends with an error, and a person's message has a role", () => {
  const stream = new MessageStream({ id: "m", role: "human" })

  const events = [stream.start(), stream.fail("the model is away")].map((text) => JSON.parse(text))

  assert.deepEqual(events, [
    { event: "message-start", role: "human", id: "m", run_id: "m" },
    { event: "error", message: "the model is away", id: "m", run_id: "m" },
  ])
})

test("Python gives the same events", { skip }, async () => {
  const call = (index: number | null, args: string, id: string | null = null, name: string | null = null) => ({
    type: "tool_call_chunk",
    index,
    args,
    id,
    name,
  })
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
  const messages: ContentMessage[][] = [
    [{ content: "" }, { content: "Hel" }, { content: "lo" }, { content: "", usage_metadata: usage }],
    [{ content: "Hi" }, { content: "", tool_call_chunks: [call(0, "", "c1", "add"), call(1, "{}", "c2", "now")] }],
    ["", "{", '"a"', ":1", "}"].map((args, index) => ({
      content: "",
      tool_call_chunks: [index === 0 ? call(0, args, "c1", "add") : call(0, args)],
    })),
    [{ content: "", tool_call_chunks: [call(null, '{"a"', "c1", "add"), call(null, "{}", "c2", "add")] }],
    [
      { content: [{ type: "thinking", thinking: "Hm", index: 0 }], response_metadata: { model_provider: "anthropic" } },
      {
        content: [{ type: "thinking", signature: "abc", index: 0 }],
        response_metadata: { model_provider: "anthropic" },
      },
      { content: [{ type: "text", text: "Yes", index: 1 }], response_metadata: { model_provider: "anthropic" } },
      {
        content: [{ type: "input_json_delta", partial_json: "{}", index: 2 }],
        tool_call_chunks: [call(2, "{}", "t", "add")],
        response_metadata: { model_provider: "anthropic" },
      },
    ],
  ]

  const theirs = await pythonEventsOf(messages)

  assert.deepEqual(
    theirs,
    messages.map((chunks) => eventsOf(chunks)),
  )
})
