/** A run whose readers are behind is paused, and nothing else of its worker is. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { RunListener } from "./port.js"
import { endOf, noteDown, runOrder, seen, startTestPool, type Told } from "./testing/test-pool.js"

test("P18: a run whose events are waited for is paused by itself: its neighbours in the worker go on", async () => {
  await using testing = await startTestPool()
  const told: Told = { events: [], ends: [] }
  const listener = noteDown(told)
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
  assert.deepEqual(
    told.events.map(({ event }) => event),
    ["waiting", "pause_events", "resume_events"],
  )
})
