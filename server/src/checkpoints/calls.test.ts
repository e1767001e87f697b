/** What a worker's call about checkpoints may be: user code can set some of its fields, and a worker may be a stranger's. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { type Entrance, fuzz } from "@superstep/toolkit/testing/fuzz"
import { answerCall, type CallHandlers, UnknownMethod } from "../workers/calls.js"
import { ProtocolViolation, parseHeader } from "../workers/headers.js"

const place = { thread_id: "t", checkpoint_ns: "" }
const claim = { run_id: "r", claim_id: "c" }
const blob = { channel: "messages", version: "1", type: "json" }
const write = { task_id: "t1", task_path: "", idx: 0, channel: "messages", type: "json" }
const payload = ["checkpoint", "metadata", "blob"]

/** By method: a call with all fields, and the names of those that may be absent. */
const calls: Readonly<Record<string, readonly [fields: object, optional: readonly string[]]>> = {
  "checkpoint.get": [{ ...place, checkpoint_id: "a" }, ["checkpoint_id"]],
  "checkpoint.list": [
    { ...place, before: "b", limit: 3, filter: { step: 1 } },
    ["checkpoint_ns", "before", "limit", "filter"],
  ],
  "checkpoint.ancestors": [{ ...place, checkpoint_id: "a", channels: ["messages"] }, ["checkpoint_id"]],
  "checkpoint.put": [
    { ...place, ...claim, checkpoint_id: "a", parent_checkpoint_id: "b", blobs: [blob], may_wait: true, payload },
    ["parent_checkpoint_id", "may_wait"],
  ],
  "checkpoint.put_writes": [
    { ...place, ...claim, checkpoint_id: "a", writes: [write], may_wait: true, payload: ["write"] },
    ["may_wait", "payload"],
  ],
}

const isText = (value: unknown): boolean => typeof value === "string"
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value)
const isListOf = (isItem: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(isItem)
const isBetween = (least: number, most: number) => (value: unknown) =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most
const hasAll = (fields: object) => (value: unknown) =>
  isObject(value) && Object.keys(fields).every((name) => isFit(name, (value as Record<string, unknown>)[name]))

/** What the handlers, and Postgres after them, rely on. Every other field is a text. */
const fit: Readonly<Record<string, (value: unknown) => boolean>> = {
  limit: isBetween(0, Number.MAX_SAFE_INTEGER),
  idx: isBetween(-(2 ** 31), 2 ** 31 - 1),
  filter: isObject,
  channels: isListOf(isText),
  payload: isListOf(isText),
  blobs: isListOf(hasAll(blob)),
  writes: isListOf(hasAll(write)),
  may_wait: (value) => typeof value === "boolean",
}

const isFit = (name: string, value: unknown): boolean => (fit[name] ?? isText)(value)

/** Handlers that reply with the fields that they get. */
const echo: CallHandlers = Object.fromEntries(
  Object.keys(calls).map((method) => [method, async (fields: object) => ({ fields: { ...fields } })]),
)

const lineOf = (method: string, fields: object) => JSON.stringify({ type: "call", call_id: "1", method, ...fields })

/** The fields that a handler gets for a header. */
async function received(line: string): Promise<Readonly<Record<string, unknown>>> {
  const header = parseHeader(line)
  if (header.type !== "call") return {}
  return (await answerCall(echo, header, [], "javascript")).fields ?? {}
}

const hostile = [
  null, true, 0, -1, 1.5, 2 ** 31, 2 ** 53, 1e300, "", "1", [], {}, [null], [1], [{}], [[]], [{ ...blob, version: 1 }], [{ ...blob, type: null }],
  [{ ...write, idx: 1.5 }], [{ ...write, idx: 2 ** 31 }], [{ ...write, idx: "0" }], [{ ...write, task_path: null }],
] // biome-ignore format: a list of values

test("a call reaches its handler only if each field is there and is what the handler expects", async () => {
  for (const [method, [fields, optional]] of Object.entries(calls)) {
    assert.ok(Object.entries(await received(lineOf(method, fields))).length > 0)
    for (const name of Object.keys(fields)) {
      const without = received(lineOf(method, { ...fields, [name]: undefined }))
      if (optional.includes(name)) await without
      else await assert.rejects(without, InvalidInput, `${method} without ${name}`)

      for (const value of hostile.filter((each) => !isFit(name, each))) {
        const refused = (error: unknown) => error instanceof InvalidInput || error instanceof ProtocolViolation
        const text = `${method} with ${name}: ${JSON.stringify(value)}`
        await assert.rejects(received(lineOf(method, { ...fields, [name]: value })), refused, text)
      }
    }
  }
})

test("a filter that is a number is refused, however it is written", async () => {
  for (const number of ["1.0", "12345678901234567890", "1e400"]) {
    const line = lineOf("checkpoint.list", place).replace(/\}$/, `,"filter":${number}}`)
    await assert.rejects(received(line), InvalidInput)
  }
})

const entrance: Entrance = {
  name: "a call about checkpoints",
  examples: Object.entries(calls).map(([method, [fields]]) => lineOf(method, fields)),
  read: received,
  refuses: (error) =>
    error instanceof InvalidInput || error instanceof ProtocolViolation || error instanceof UnknownMethod,
  check: (fields) => {
    const { type, call_id, method, ...own } = fields as Readonly<Record<string, unknown>>
    const [all, optional]: readonly [object, readonly string[]] = calls[String(method)] ?? [{}, []]
    for (const name of Object.keys(all)) {
      assert.ok(own[name] === undefined ? optional.includes(name) : isFit(name, own[name]), name)
    }
  },
}

test("a changed call is read, or refused as documented, in linear time", async () => {
  assert.deepEqual(await fuzz(entrance, { seed: 31, inputs: 400 }), [])
})
