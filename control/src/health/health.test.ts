import assert from "node:assert/strict"
import { test } from "node:test"
import { type HealthFacts, healthOf, isRestarting } from "./health.js"

type Unit = HealthFacts["units"][number]

const answering: Unit = {
  is_ready: true,
  is_down: false,
  is_answering: true,
  crashes: 0,
  worker_crashes: 0,
  up_ms: 5000,
  is_outdated: false,
}
const silent: Unit = { ...answering, is_answering: false }
const crashed: Unit = { ...silent, is_down: true, crashes: 1 }
const facts = (units: readonly Unit[], change: Partial<HealthFacts> = {}): HealthFacts => ({
  is_paused: false,
  is_asleep: false,
  is_refused: false,
  units,
  ...change,
})

const cases: readonly (readonly [string, HealthFacts, ReturnType<typeof healthOf>])[] = [
  ["no revision serves", facts([]), null],
  ["its unit answers", facts([answering]), "healthy"],
  ["its unit waits for a back-off", facts([crashed]), "down"],
  ["its unit crashed, was started and does not answer yet", facts([{ ...silent, crashes: 1 }]), "down"],
  ["its unit hangs", facts([silent]), "down"],
  ["requests wait until its unit is ready", facts([{ ...silent, is_ready: false }]), "starting"],
  ["its unit crashed while requests wait for it", facts([{ ...crashed, is_ready: false }]), "down"],
  ["one of two replicas crashed", facts([crashed, answering]), "healthy"],
  ["its unit crashed twice in a row and answers", facts([{ ...answering, crashes: 2 }]), "crashing"],
  ["that was more than ten minutes ago", facts([{ ...answering, crashes: 2, up_ms: 600_000 }]), "healthy"],
  ["its workers crashed twice", facts([{ ...answering, worker_crashes: 2 }]), "crashing"],
  ["unit and worker crashed once each", facts([{ ...answering, crashes: 1, worker_crashes: 1 }]), "crashing"],
  ["it is paused", facts([silent], { is_paused: true }), "paused"],
  ["it sleeps", facts([silent], { is_asleep: true }), "asleep"],
  ["it sleeps and there is no room for it", facts([silent], { is_asleep: true, is_refused: true }), "down"],
]
for (const [what, given, health] of cases) {
  test(`health is ${health} when ${what}`, () => assert.equal(healthOf(given), health))
}

test("a restart goes on until every unit was replaced; what sleeps or is paused has none to replace", () => {
  const outdated = facts([answering, { ...answering, is_outdated: true }])

  assert.equal(isRestarting(outdated), true)
  assert.equal(isRestarting(facts([answering])), false)
  assert.equal(isRestarting({ ...outdated, is_asleep: true }), false)
  assert.equal(isRestarting({ ...outdated, is_paused: true }), false)
})
