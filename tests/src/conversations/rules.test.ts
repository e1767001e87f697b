import assert from "node:assert/strict"
import { test } from "node:test"
import type { Received } from "@superstep/worker-js/testing/fake-server"
import { brokenRules, type Told } from "./rules.js"

const frame = (header: object, data = "{}"): Received =>
  ({ header: { run_id: "r", claim_id: "c", ...header }, payload: { data }, lines: [data] }) as unknown as Received
const event = (name: string, data: object = {}) => frame({ type: "event", event: name }, JSON.stringify(data))
const pong = (nonce: string): Received =>
  ({ header: { type: "pong", nonce }, payload: {}, lines: [] }) as unknown as Received
const done = frame({ type: "done", status: "success" })
const writes = (write: object) =>
  frame({ type: "call", method: "checkpoint.put_writes", thread_id: "t", writes: [write] })
const result = event("tasks", { id: "task", result: {} })
const question = event("updates", { __interrupt__: [{ id: "i" }] })

const told = (what: Told["what"], after: number, nonce = what): Told => ({ claim: "c", what, after, nonce })
const started = told("run", 0)
const pausedUntil = (after: number) => [started, told("pause_events", 0), told("resume_events", after)]

const cases: Readonly<Record<string, { bad: [Received[], Told[]]; good: [Received[], Told[]]; rule: RegExp }>> = {
  "an event while its run is paused": {
    bad: [[pong("pause_events"), event("values"), done], pausedUntil(2)],
    good: [[event("values"), pong("pause_events"), pong("x"), event("values"), done], pausedUntil(3)],
    rule: /^W9: frame 1 \(event values\)/,
  },
  "something after the end of a run": {
    bad: [[done, event("values")], [started]],
    good: [[event("values"), done], [started]],
    rule: /^W1: frame 1 \(event values\)/,
  },
  "something after a claim was lost": {
    bad: [
      [pong("lost"), done],
      [started, told("lost", 0)],
    ],
    good: [
      [event("values"), pong("lost")],
      [started, told("lost", 0)],
    ],
    rule: /^W4: frame 1 \(done\)/,
  },
  "a result that is saved before it is in the stream": {
    bad: [[writes({ task_id: "task", idx: 0, channel: "x" }), result, done], [started]],
    good: [
      [result, writes({ task_id: "task", idx: 0, channel: "x" }), writes({ task_id: "other", idx: 0, channel: "x" })],
      [started],
    ],
    rule: /^W2: frame 0 \(call checkpoint.put_writes\)/,
  },
  "an interrupt that is reported before it is saved": {
    bad: [[question, writes({ task_id: "task", idx: -3, channel: "__interrupt__" })], [started]],
    good: [[writes({ task_id: "task", idx: -3, channel: "__interrupt__" }), question, result], [started]],
    rule: /^W10: frame 0 \(event updates\)/,
  },
  "a run that was never started": {
    bad: [[event("values")], []],
    good: [[], []],
    rule: /^W1: frame 0 \(event values\)/,
  },
}

for (const [name, { bad, good, rule }] of Object.entries(cases)) {
  test(`a conversation is judged: ${name}`, () => {
    const [fault = "", ...others] = brokenRules(...bad)

    assert.match(fault, rule)
    assert.deepEqual(others, [])
    assert.deepEqual(brokenRules(...good), [])
  })
}
