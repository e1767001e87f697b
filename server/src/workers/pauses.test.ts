/** A run whose readers are behind is paused, but its worker's other runs are not. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { gate } from "../checkpoints/testing/claimed-runs.js"
import type { RunListener } from "./port.js"
import { endOf, type RecordedCalls, recordCalls, runOrder, seen, startTestPool } from "./testing/test-pool.js"

test("P18: pausing a run does not pause the other runs of its worker", async () => {
  await using testing = await startTestPool()
  const told: RecordedCalls = { events: [], ends: [] }
  const listener = recordCalls(told)
  const readersCatchUp = gate()
  const onEvent: RunListener["onEvent"] = (event, data) => {
    listener.onEvent(event, data)
    return event === "waiting" || event === "pause_events" ? readersCatchUp.opened : undefined
  }
  testing.pool.execute(runOrder([{ do: "wait" }]), { ...listener, onEvent })
  await seen(told, "pause_events")

  const neighbour = testing.run([{ do: "events", count: 3, sizeBytes: 1 }, { do: "done" }])
  await endOf(neighbour)
  const before = fieldsOf(told.events, "event")
  readersCatchUp.open()
  await seen(told, "resume_events")

  assert.equal(neighbour.events.length, 3)
  assert.deepEqual(before, ["waiting", "pause_events"])
  assert.deepEqual(fieldsOf(told.events, "event"), ["waiting", "pause_events", "resume_events"])
})
