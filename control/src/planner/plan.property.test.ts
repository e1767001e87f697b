/** What holds of the plan whatever happens: crashes, hangs, deploys, restarts, sleep and pauses in any order. */
import assert from "node:assert/strict"
import test from "node:test"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { after, isDueSoon } from "./due.js"
import type { DeploymentFacts } from "./facts.js"
import { type Action, plan } from "./plan.js"
import { World } from "./testing/world.js"
import { factsOf } from "./testing/world-facts.js"
import { pass } from "./testing/world-pass.js"

const histories = runsWideTests ? 400 : 100

const events: readonly (readonly [string, (world: World, upTo: (below: number) => number) => void])[] = [
  ["deploy", (world, upTo) => world.deploy(1 + upTo(3))],
  ["deploy a canary", (world, upTo) => world.deploy(1 + upTo(2), 1 + upTo(99))],
  ["promote", (world) => Object.assign(world.with("canary") ?? {}, { weight: 100 })],
  ["abort", (world) => Object.assign(world.with("canary") ?? {}, { weight: 0 })],
  ["runs wait", (world) => Object.assign(world, { isShort: true })],
  ["there is room", (world) => Object.assign(world, { isShort: false })],
  ["runs", (world, upTo) => endRuns(world, upTo)],
  ["roll back canaries", (world) => Object.assign(world, { rollbackMinRuns: 20 })],
  ["interrupt", (world) => Object.assign(world.with("starting") ?? {}, { isSettled: true })],
  ["crash", (world, upTo) => onSome(world, upTo, (unit) => Object.assign(unit, { process: "exited" }))],
  ["evict", (world, upTo) => onSome(world, upTo, (unit) => Object.assign(unit, { isDisrupted: true }))],
  ["hang", (world, upTo) => onSome(world, upTo, (unit) => Object.assign(unit, { isHung: true }))],
  ["request", (world, upTo) => onServing(world, upTo, (unit) => Object.assign(unit, { open: unit.open + 1 }))],
  ["response", (world, upTo) => onSome(world, upTo, (unit) => Object.assign(unit, { open: 0 }))],
  ["threads pause", (world, upTo) => Object.assign(world, { paused: upTo(3) })],
  ["pin", (world) => addThread(world)],
  ["fail verify", (world) => world.failVerify()],
  ["answer", (world) => answerAll(world)],
  ["restart", (world) => Object.assign(world, { generation: world.generation + 1 })],
  ["pause", (world) => Object.assign(world, { isPaused: true })],
  ["resume", (world) => Object.assign(world, { isPaused: false })],
  ["wake", (world) => world.sleep === "asleep" && Object.assign(world, { sleep: "waking" })],
  ["may sleep", (world, upTo) => Object.assign(world, { maySleep: upTo(2) === 0 })],
]

function addThread(world: World): void {
  const serving = world.with("serving")
  if (serving) world.pins.set(serving.id, world.threadsOf(serving) + 1)
}

function answerAll(world: World): void {
  for (const revision of world.revisions)
    if (world.threadsOf(revision) > 0) revision.hasRuns = revision.role === "pinned" || revision.role === "standby"
}

/** Some fail, on the canary more often. */
function endRuns(world: World, upTo: (below: number) => number): void {
  for (const { role, units } of world.revisions)
    for (const unit of units) {
      const ended = upTo(40)
      unit.runsEnded += ended
      unit.runsFailed += role === "canary" ? upTo(ended + 1) : upTo(Math.floor(ended / 4) + 1)
    }
}

type SomeUnit = World["revisions"][number]["units"][number]

function onSome(world: World, upTo: (below: number) => number, change: (unit: SomeUnit) => unknown): void {
  const units = world.revisions.flatMap((revision) => revision.units).filter(({ process }) => process === "running")
  const unit = units[upTo(Math.max(1, units.length))]
  if (unit) change(unit)
}

function onServing(world: World, upTo: (below: number) => number, change: (unit: SomeUnit) => unknown): void {
  const units = (world.with("serving")?.units ?? []).filter(({ isReady, process }) => isReady && process === "running")
  const unit = units[upTo(Math.max(1, units.length))]
  if (unit) change(unit)
}

/** What no single step may do. */
function checkStep(world: World, actions: readonly Action[], before: DeploymentFacts, history: string[]): void {
  const told = () =>
    `${history.slice(-30).join(", ")} → ${JSON.stringify(actions.map((it) => ("does" in it ? [it.does, it.unit.unit_id] : it.kind)))}`
  assert.ok(world.revisions.filter(({ role }) => role === "serving").length <= 1, `one revision serves: ${told()}`)
  assert.ok(
    world.revisions.filter(({ role }) => role === "canary").length <= 1,
    `one revision is the canary: ${told()}`,
  )
  for (const { units, minUnits, maxUnits } of world.revisions.filter(({ role }) => role === "serving")) {
    const staying = units.filter(({ leavingMs }) => leavingMs === null).length
    assert.ok(staying >= minUnits && staying <= maxUnits, `as many units as it may have: ${told()}`)
  }
  const held = new Set(actions.flatMap((it) => (it.kind === "unit" && it.does === "hold" ? [it.unit.unit_id] : [])))
  for (const action of actions) {
    const pins = before.revisions.find(
      ({ revision_id }) => "revision" in action && revision_id === action.revision,
    )?.pins
    if (action.kind === "retire")
      assert.deepEqual([pins?.threads, pins?.has_runs], [0, false], `threads keep it: ${told()}`)
    if (action.kind !== "unit") continue
    const { role } = action.unit
    if (action.does === "activate") assert.equal(role, "serving", `only what serves is activated: ${told()}`)
    if (action.does === "remove" && !before.is_deleted)
      assert.ok(
        role === "retiring" || role === "starting" || action.unit.leaving_ms !== null,
        `what serves or stands by is not ended: ${told()}`,
      )
    if (action.does.startsWith("remove") && role === "retiring" && !before.is_paused && !before.is_deleted) {
      const open = (action.unit.traffic?.open ?? 0) > 0 && action.unit.seen?.process === "running"
      const isDue = before.revisions.some(
        (it) => it.revision_id === action.unit.revision_id && (it.retire_in_ms ?? 0) <= 0,
      )
      assert.ok(!open || isDue || action.unit.seen?.answer === "hung", `requests go on to their end: ${told()}`)
    }
    if (action.does === "hold") {
      const all = before.revisions.find(({ revision_id }) => revision_id === action.unit.revision_id)?.units ?? []
      // One that leaves is no other replica: it may be gone before the restart is over.
      const others = all.filter(({ leaving_ms }) => leaving_ms === null)
      const serves = all.filter(({ unit_id, is_ready }) => is_ready && !held.has(unit_id))
      const isLeft = others.length === 1 || serves.length > 0 || action.unit.seen?.isDisrupted
      assert.ok(isLeft, `a restart leaves a replica that serves: ${told()}`)
    }
  }
  assert.equal(
    new Set(actions.map((it) => (it.kind === "unit" ? it.unit.unit_id : "deployment"))).size,
    actions.length,
    told(),
  )
}

/** Where every history ends when nothing happens any more. */
function checkEnd(world: World, history: string[]): void {
  const told = JSON.stringify({ history: history.slice(-30), facts: factsOf(world) })
  if (world.isDeleted) {
    assert.equal(world.revisions.length, 0, `a deleted deployment has no units: ${told}`)
    return
  }
  const mayKeep = world.isPaused || world.sleep === "asleep" || !world.with("serving")
  assert.deepEqual(
    world.revisions
      .map(({ role }) => role)
      .filter((role) => role !== "serving" && role !== "canary" && !(mayKeep && role === "pinned")),
    [],
    told,
  )
  const canary = world.with("canary")
  if (!mayKeep && canary) {
    assert.ok(canary.weight !== 0 && canary.weight !== 100, `a promotion and an abort come to their end: ${told}`)
    assert.deepEqual(world.traffic, { [world.with("serving")?.id ?? ""]: null, [canary.id]: canary.weight }, told)
  }
  if (!mayKeep && !canary) assert.deepEqual(world.traffic, { [world.with("serving")?.id ?? ""]: null }, told)
  assert.notEqual(world.isPaused ? "" : world.sleep, "waking", told)
  if (!mayKeep) {
    const lost = [...world.pins].filter(([id, threads]) => threads > 0 && !world.revisions.some((it) => it.id === id))
    assert.deepEqual(lost, [], `no thread is pinned to a revision without units: ${told}`)
  }
  const isUp = !world.isPaused && world.sleep === "awake"
  const serving = world.with("serving")
  if (isUp && serving) assert.equal(serving.units.length, serving.minUnits, `no more units than it needs: ${told}`)
  for (const unit of world.with("serving")?.units ?? []) {
    const { process, isReady, isActive } = unit
    if (isUp)
      assert.deepEqual({ process, isReady, isActive }, { process: "running", isReady: true, isActive: true }, told)
    else assert.notEqual(process, "running", told)
  }
}

/** L8: who plans only what has changed or is due soon misses nothing. */
function checkQuiet(world: World, history: string[]): void {
  const facts = factsOf(world)
  if (isDueSoon(facts, world.limits)) return
  for (const ms of [1, 500, 2500, 7000]) {
    const actions = plan(after(facts, ms), world.limits)
    assert.deepEqual(actions, [], `due in ${ms} ms: ${JSON.stringify({ history: history.slice(-30), facts })}`)
  }
}

test("after any history, the deployment comes to what is wanted of it, and no step on the way does harm", () => {
  for (let seed = 1; seed <= histories; seed++) {
    const { below: upTo } = seededRandom(seed)
    const world = new World()
    const history: string[] = []
    const step = (ms: number) => {
      const before = factsOf(world)
      checkStep(world, pass(world, ms), before, history)
      if (seed % 5 === 0) checkQuiet(world, history)
    }
    world.deploy(1 + upTo(3))
    for (let event = 0; event < 60; event++) {
      const [name, happen] = events[upTo(events.length)] ?? []
      happen?.(world, upTo)
      history.push(name ?? "nothing")
      for (let passes = upTo(6); passes > 0; passes--) step([100, 1000, 20_000][upTo(3)] ?? 1000)
    }
    if (upTo(5) === 0) Object.assign(world, { isDeleted: true })
    for (const unit of world.revisions.flatMap(({ units }) => units)) unit.open = 0
    Object.assign(world, { maySleep: false, isShort: false })
    if (world.sleep === "waking" && upTo(2) === 0) world.sleep = "asleep"
    for (let pass = 0; pass < 300; pass++) {
      answerAll(world)
      step(1000)
    }
    checkEnd(world, history)
  }
})
