import assert from "node:assert/strict"
import { test } from "node:test"
import { resultEvent } from "./event.js"
import { eventFilter, type Wanted } from "./event-filter.js"

const names = [
  "metadata",
  "values",
  "values|sub:1",
  "updates",
  "updates|sub:1",
  "updates|sub:1|inner:2",
  "messages",
  "messages|sub:1",
  "messages/partial",
  "error",
  "end",
  resultEvent,
]
const wanted = (asked: Wanted) => names.filter(eventFilter(asked))
const always = ["metadata", "error", "end"]

test("a mode includes its subgraphs, and the two message modes are distinguished", () => {
  assert.deepEqual(wanted({ modes: ["updates"] }).slice(1, -2), ["updates", "updates|sub:1", "updates|sub:1|inner:2"])
  assert.deepEqual(wanted({ modes: ["messages-tuple"] }).slice(1, -2), ["messages", "messages|sub:1"])
  assert.deepEqual(wanted({ modes: ["messages"] }).slice(1, -2), ["messages/partial"])
  assert.deepEqual(wanted({ modes: [resultEvent] }), always)
})

test("a mode with a namespace selects only that subgraph", () => {
  assert.deepEqual(wanted({ modes: ["updates|sub:1", "values"] }).slice(1, -2), [
    "values",
    "values|sub:1",
    "updates|sub:1",
  ])
  assert.deepEqual(wanted({ modes: ["messages-tuple|sub:1"] }).slice(1, -2), ["messages|sub:1"])
})
