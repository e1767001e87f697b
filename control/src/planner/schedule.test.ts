/** Which deployments a pass of the planner plans (L8). */
import assert from "node:assert/strict"
import test from "node:test"
import { after, isDueSoon, safetyMs } from "./due.js"
import type { UnitFacts } from "./facts.js"
import { Schedule } from "./schedule.js"
import { deploymentOf, exited, revisionOf, unitOf } from "./testing/facts.js"

test("a pass plans what has changed and what is due soon, and all deployments every ten seconds", () => {
  const schedule = new Schedule()

  const first = schedule.take(0)
  schedule.planned("busy", { isDueSoon: true })
  schedule.planned("quiet", { isDueSoon: false })
  schedule.changed("other")
  const isSoon = [schedule.isSoon]
  const second = schedule.take(10)
  schedule.planned("other", { isDueSoon: false })
  const third = schedule.take(20)
  schedule.planned("busy", { isDueSoon: false })
  isSoon.push(schedule.isSoon)
  const fourth = schedule.take(30)
  const all = schedule.take(safetyMs)
  const after = schedule.take(safetyMs + 10)
  schedule.allChanged()

  assert.deepEqual(
    [first, second, third, fourth, all, after],
    [undefined, ["other", "busy"], ["busy"], [], undefined, []],
  )
  assert.deepEqual([isSoon, schedule.take(safetyMs + 20)], [[true, false], undefined])
})

test("a deployment that is gone is not planned again", () => {
  const schedule = new Schedule()
  schedule.take(0)
  schedule.planned("gone", { isDueSoon: true })

  schedule.gone("gone")

  assert.deepEqual(schedule.take(10), [])
})

test("a deployment is due soon while a unit waits for its next start, or the edge is asked about one that retires", () => {
  const limits = { watchMs: 60_000, idleMs: 600_000, drainMs: 900_000, scaleDownMs: 300_000 }
  const waiting = (start_in_ms: number) => unitOf("u", { seen: exited, is_down: true, may_start: false, start_in_ms })
  const isDue = (role: "serving" | "retiring", unit: UnitFacts) =>
    isDueSoon(deploymentOf([revisionOf(role, [unit])]), limits)

  assert.deepEqual([isDue("serving", waiting(9000)), isDue("serving", waiting(11_000))], [true, false])
  assert.equal(isDue("retiring", unitOf("u", { traffic: { open: 1, idle_ms: 0 } })), true)
})

test("the facts after some time are those whose times have passed", () => {
  const at = (ms: number) => {
    const times = { up_ms: ms, idle_ms: ms, leaving_ms: ms, start_in_ms: 9000 - ms, may_start: ms >= 4000 }
    const unit = unitOf("u", { ...times, traffic: { open: 0, idle_ms: ms } })
    const busy = unitOf("busy", { ...times, traffic: { open: 1, idle_ms: 0 } })
    const pins = { threads: 1, has_runs: false, traffic: undefined, quiet_ms: ms }
    const revision = { settled_ms: ms, retire_in_ms: 9000 - ms, scaled_ms: ms, loaded_ms: ms, pinned_ms: ms, pins }
    return deploymentOf([revisionOf("pinned", [unit, busy], revision)], { wake_in_ms: 9000 - ms })
  }

  assert.deepEqual(after({ ...at(1000) }, 8000), { ...at(9000) })
})
