import assert from "node:assert/strict"
import { test } from "node:test"
import { type ServerRoom, type WaitFacts, waitOf } from "./queue-entry.js"

const due: WaitFacts = {
  is_due: true,
  not_before: new Date("2026-01-01T00:00:00Z"),
  thread_runs: null,
  thread_waits: null,
  runs_alone: false,
  revision_id: null,
}
const room: ServerRoom = { revisionId: "r2", freeSlots: 0, freeSoloSlots: 0 }

test("a waiting run has the first reason that keeps it from starting", () => {
  const cases: [Partial<WaitFacts>, Partial<ServerRoom>, string, RegExp][] = [
    [{ is_due: false, thread_runs: "a" }, {}, "scheduled", /2026-01-01T00:00:00.000Z/],
    [{ thread_runs: "a", thread_waits: "b" }, {}, "thread_busy", /a\.$/],
    [{ thread_waits: "b", runs_alone: true }, {}, "thread_order", /b\.$/],
    [{ revision_id: "r1", runs_alone: true }, {}, "other_revision", /r1/],
    [{ revision_id: "r2" }, {}, "no_free_slot", /busy/],
    [{ runs_alone: true }, { freeSlots: 3 }, "needs_own_worker", /of its own/],
    [{ runs_alone: true }, { freeSoloSlots: 1 }, "starting", /moment/],
    [{}, { freeSlots: 1 }, "starting", /moment/],
    [{}, {}, "no_free_slot", /ends/],
  ]
  for (const [facts, has, reason, message] of cases) {
    const wait = waitOf({ ...due, ...facts }, { ...room, ...has })
    assert.equal(wait.reason, reason)
    assert.match(wait.message, message)
  }
  assert.deepEqual(waitOf({ ...due, is_due: false }, room).until, due.not_before)
  assert.equal(waitOf({ ...due, thread_runs: "a" }, room).run_id, "a")
})
