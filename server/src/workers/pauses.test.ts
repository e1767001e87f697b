/** A run whose readers are behind is paused, but its worker's other runs are not. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import type { RunListener } from "./port.js"
import { endOf, type RecordedCalls, recordCalls, runOrder, seen, startTestPool } from "./testing/test-pool.js"

test("P18: pausing a run does not pause the other runs of its worker", async () => {
  await using testing = await startTestPool()
  const told: RecordedCalls = { events: [], ends: [] }
  const listener = recordCalls(told)
  let go: () => void = () => undefined
  const until = new Promise<void>((resolve) => {
    go = resolve
  })
  const onEvent: RunListener["onEvent"] = (event, data) => {
    listener.onEvent(event, data)
    return event === "waiting" || event === "pause_events" ? until : undefined
  }
  testing.pool.execute(runOrder([{ do: "wait" }]), { ...listener, onEvent })
  await seen(told, "pause_events")

  const neighbour = testing.run([{ do: "events", count: 3, sizeBytes: 1 }, { do: "done" }])
  await endOf(neighbour)
  const before = told.events.map(({ event }) => event)
  go()
  await seen(told, "resume_events")

  assert.equal(neighbour.events.length, 3)
  assert.deepEqual(before, ["waiting", "pause_events"])
  assert.deepEqual(fieldsOf(told.events, "event"), ["waiting", "pause_events", "resume_events"])
})
