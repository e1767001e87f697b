/** A pass of the planner in a world, and the time after it. */
import { type Action, plan } from "../plan.js"
import type { World } from "./world.js"
import { execute } from "./world-effects.js"
import { factsOf, pinsOf, seenOf } from "./world-facts.js"

/** Plans once, does it all, and lets time pass. What is pinned is counted before the actions. @returns the actions */
export function pass(world: World, ms: number): readonly Action[] {
  const actions = plan(factsOf(world), world.limits)
  world.pinsSeen = pinsOf(world)
  for (const action of actions) execute(world, action)
  world.stages()
  passTime(world, ms)
  return actions
}

function passTime(world: World, ms: number): void {
  for (const revision of world.revisions) {
    revision.settledMs += ms
    revision.retireIn -= ms
    revision.pinnedMs += ms
    if (revision.scaledMs !== null) revision.scaledMs += ms
    if (revision.loadedMs !== null) revision.loadedMs += ms
    if (revision.hasRuns && revision.units.some((unit) => seenOf(unit).answer === "ready")) {
      revision.hasRuns = false
      world.pins.set(revision.id, Math.max(0, world.threadsOf(revision) - 1))
    }
    revision.quietMs = revision.hasRuns ? 0 : revision.quietMs + ms
    for (const unit of revision.units) {
      // Its grace time is over.
      if (unit.isDisrupted && unit.process === "running") Object.assign(unit, { process: "exited", isHung: false })
      unit.readyIn -= ms
      unit.startIn -= ms
      unit.upMs += ms
      if (unit.leavingMs !== null) unit.leavingMs += ms
      unit.idleMs = unit.open > 0 ? 0 : unit.idleMs + ms
    }
  }
}
