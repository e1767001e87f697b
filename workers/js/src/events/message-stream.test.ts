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

const call = (index: number | null, args: string, id: string | null = null, name: string | null = null) => ({
  type: "tool_call_chunk",
  index,
  args,
  id,
  name,
})
const calls = (...tool_call_chunks: ReturnType<typeof call>[]) => ({ content: "", tool_call_chunks })
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
const response_metadata = { model_provider: "anthropic" }

/** As the packages of providers make them. */
const chunksOf: Readonly<Record<"text" | "openAi" | "args" | "anthropic" | "google", ContentMessage[]>> = {
  text: [{ content: "" }, { content: "Hel" }, { content: "lo" }, { content: "", usage_metadata: usage }],
  openAi: [
    { content: "Sure" },
    calls(call(0, "", "c1", "add")),
    calls(call(0, '{"a":')),
    calls(call(0, "1}")),
    calls(call(1, "{}", "c2", "now")),
  ],
  args: ["", "{", '"a"', ":1", "}"].map((args, n) => calls(n === 0 ? call(0, args, "c1", "add") : call(0, args))),
  anthropic: [
    { content: [{ type: "thinking", thinking: "Hm", index: 0 }], response_metadata },
    { content: [{ type: "thinking", thinking: "m", index: 0 }], response_metadata },
    { content: [{ type: "thinking", signature: "abc", index: 0 }], response_metadata },
    { content: [{ type: "text", text: "Yes", index: 1 }], response_metadata },
    {
      ...calls(call(2, "", "t", "add")),
      content: [{ type: "tool_use", id: "t", name: "add", input: {}, index: 2 }],
      response_metadata,
    },
    {
      ...calls(call(2, "{}")),
      content: [{ type: "input_json_delta", partial_json: "{}", index: 2 }],
      response_metadata,
    },
  ],
  google: [{ content: "I see" }, calls(call(null, '{"a":1}', "g1", "add"), call(null, "{}", "g2", "add"))],
}

test("text in pieces gives one block", () => {
  assert.deepEqual(eventsOf(chunksOf.text), [
    { event: "message-start" },
    { event: "content-block-start", index: 0, content: { type: "text", text: "" } },
    { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: "Hel" } },
    { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: "lo" } },
    { event: "usage", usage },
    { event: "content-block-finish", index: 0, content: { type: "text", text: "Hello" } },
    { event: "message-finish", reason: "stop", usage },
  ])
})

test("usage that comes in parts is added up", () => {
  const part = (input_tokens: number, output_tokens: number) => ({
    content: "",
    usage_metadata: { input_tokens, output_tokens, input_token_details: { cache_read: 1 } },
  })

  const sum = { input_tokens: 3, output_tokens: 3, input_token_details: { cache_read: 2 } }
  assert.deepEqual(eventsOf([part(2, 3), part(1, 0)]).at(-1), { event: "message-finish", reason: "stop", usage: sum })
})

const add = { type: "tool_call", name: "add" }
for (const [provider, chunks, blocks] of [
  [
    "OpenAI: text and two tool calls, whose number repeats the text's place",
    chunksOf.openAi,
    [
      { type: "text", text: "Sure" },
      { ...add, id: "c1", args: { a: 1 } },
      { ...add, id: "c2", name: "now", args: {} },
    ],
  ],
  [
    "Anthropic: thinking with a signature, text, and a tool call that its content repeats",
    chunksOf.anthropic,
    [
      { type: "reasoning", reasoning: "Hmm", extras: { signature: "abc" } },
      { type: "text", text: "Yes" },
      { ...add, id: "t", args: {} },
    ],
  ],
  [
    "Google: whole tool calls without numbers, which its content repeats, stay apart",
    [
      { content: [{ type: "text", text: "I " }] },
      {
        ...chunksOf.google[1],
        content: [
          { type: "text", text: "see" },
          { type: "functionCall", functionCall: {} },
        ],
      },
    ],
    [
      { type: "text", text: "I see" },
      { ...add, id: "g1", args: { a: 1 } },
      { ...add, id: "g2", args: {} },
    ],
  ],
  [
    "arguments that are not JSON give an invalid tool call",
    [calls(call(0, '{"a"', "c", "add"))],
    [{ ...add, type: "invalid_tool_call", id: "c", args: '{"a"', error: "The arguments are not valid JSON." }],
  ],
] as const)
  test(provider, () => assert.deepEqual(finished(eventsOf(chunks)), blocks))

test("Python gives the same events", { skip }, async () => {
  const all = Object.values(chunksOf)

  const ours = all.map((chunks) => eventsOf(chunks))
  assert.deepEqual(await pythonEventsOf(all), ours)
})

test("arguments are sent as a whole, and at most every 50 ms", () => {
  const [slow, quick] = [50, 20].map((everyMs) => deltas(eventsOf(chunksOf.args, everyMs)))

  const delta = (args: string) => [
    0,
    { type: "block-delta", fields: { type: "tool_call_chunk", id: "c1", name: "add", args } },
  ]
  assert.deepEqual(slow, [delta("{"), delta('{"a"'), delta('{"a":1'), delta('{"a":1}')])
  assert.deepEqual(quick, [delta("{"), delta('{"a":1}')])
})

test("data comes in deltas, an image by its address does not", () => {
  assert.deepEqual(deltas(eventsOf(chunksOf.anthropic))[0], [0, { type: "reasoning-delta", reasoning: "Hm" }])
  const events = eventsOf([
    { content: [{ type: "audio", id: "a", mime_type: "audio/wav", data: "AA" }] },
    { content: [{ type: "audio", id: "a", data: "BB" }] },
    { content: [{ type: "image", url: "https://example.com/x.png" }] },
  ])

  assert.deepEqual(finished(events), [
    { type: "audio", id: "a", mime_type: "audio/wav", data: "AABB" },
    { type: "image", url: "https://example.com/x.png" },
  ])
  const types = deltas(events).map(([, delta]) => (delta as Event).type)
  assert.deepEqual(types, ["data-delta", "data-delta"])
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
