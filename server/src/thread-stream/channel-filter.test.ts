/** The rules of protocol-v2 §1.5, "Filter match". */
import assert from "node:assert/strict"
import { test } from "node:test"
import { type ChannelFilter, channelFilter } from "./channel-filter.js"

const names = [
  "protocol:values",
  "protocol:values|sub:1",
  "protocol:values|sub:1|inner:2",
  "protocol:messages|model:3",
  "protocol:input.requested|sub:1",
  "protocol:input.answered",
  "protocol:custom",
  "protocol:custom:progress",
  "protocol:lifecycle",
  "values",
  "metadata",
  "end",
]

const accepted = (filter: ChannelFilter) => names.filter(channelFilter(filter))

const all = ["values", "messages", "input", "custom", "lifecycle"]

test("an event passes when its channel is wanted; events of the older protocol never do", () => {
  assert.deepEqual(accepted({ channels: ["values"] }), names.slice(0, 3))
  assert.deepEqual(accepted({ channels: ["input"] }), ["protocol:input.requested|sub:1", "protocol:input.answered"])
  assert.deepEqual(accepted({ channels: ["nope"] }), [])
  assert.deepEqual(accepted({ channels: [...all, "metadata", "end"] }), names.slice(0, 9))
})

test("the channel custom contains every named one, and a named one only itself", () => {
  assert.deepEqual(accepted({ channels: ["custom"] }), ["protocol:custom", "protocol:custom:progress"])
  assert.deepEqual(accepted({ channels: ["custom:progress"] }), ["protocol:custom:progress"])
  assert.deepEqual(accepted({ channels: ["custom:other"] }), [])
})

test("a namespace is a prefix, and a segment without a task stands for all tasks of its node", () => {
  const below = ["protocol:values|sub:1", "protocol:values|sub:1|inner:2"]

  assert.deepEqual(accepted({ channels: ["values"], namespaces: [["sub:1"]] }), below)
  assert.deepEqual(accepted({ channels: ["values"], namespaces: [["sub"]] }), below)
  assert.deepEqual(accepted({ channels: ["values"], namespaces: [["sub:2"]] }), [])
  assert.deepEqual(accepted({ channels: ["values"], namespaces: [["su"]] }), [])
  assert.deepEqual(accepted({ channels: ["values"], namespaces: [["other"], ["sub", "inner:2"]] }), [below[1]])
  assert.deepEqual(accepted({ channels: ["values"], namespaces: [] }), names.slice(0, 3))
})

test("the depth counts from the prefix", () => {
  const root = { channels: ["values"], namespaces: [[]] }

  assert.deepEqual(accepted({ ...root, depth: 0 }), ["protocol:values"])
  assert.deepEqual(accepted({ ...root, depth: 1 }), ["protocol:values", "protocol:values|sub:1"])
  assert.deepEqual(accepted({ channels: ["values"], namespaces: [["sub"]], depth: 0 }), ["protocol:values|sub:1"])
})
