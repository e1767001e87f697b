/** Which deployments a pass of the planner plans (L8). */
import assert from "node:assert/strict"
import test from "node:test"
import { safetyMs } from "./due.js"
import { Schedule } from "./schedule.js"

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
