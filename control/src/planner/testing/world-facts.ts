/** What the planner sees of a world. */
import type { Pins, Shares } from "@superstep/machines/unit-client/unit-replies"
import type { DeploymentFacts, Observation, RevisionFacts, UnitFacts } from "../facts.js"
import { absent, exited, reportOf, unitOf } from "./facts.js"
import type { World, WorldRevision, WorldUnit } from "./world.js"

export function factsOf(world: World): DeploymentFacts {
  const isAsleep = world.sleep === "asleep"
  return {
    deployment_id: "d",
    is_deleted: world.isDeleted,
    is_paused: world.isPaused,
    is_asleep: isAsleep,
    has_sleep: world.sleep !== "awake",
    wake_in_ms: null,
    may_sleep: world.maySleep,
    is_worked_on: world.revisions.some(({ isSettled }) => !isSettled),
    is_switching: world.isSwitching,
    max_pin_ms: 600_000,
    rollback_min_runs: world.rollbackMinRuns,
    revisions: world.revisions.map(
      (revision): RevisionFacts => ({
        revision_id: revision.id,
        role: revision.role,
        is_settled: revision.isSettled,
        is_deploying: revision.role === "starting",
        min_units: revision.minUnits,
        max_units: revision.maxUnits,
        scaled_ms: revision.scaledMs,
        loaded_ms: revision.loadedMs,
        weight: revision.role === "canary" ? revision.weight : null,
        settled_ms: revision.isSettled ? revision.settledMs : null,
        retire_in_ms: revision.role === "retiring" ? revision.retireIn : null,
        pinned_ms: revision.role === "pinned" ? revision.pinnedMs : null,
        pins: observedPins(world, revision),
        units: revision.units.map((unit) => unitFactsOf(world, unit, revision)),
      }),
    ),
  }
}

function observationOf(world: World, unit: WorldUnit): Observation {
  const seen = seenOf(unit)
  return { ...seen, report: seen.report && { ...seen.report, traffic: sharesOf(world), load: loadOf(world) } }
}

const sharesOf = ({ traffic }: World): Shares =>
  Object.entries(traffic).map(([revision_id, weight]) => ({ revision_id, weight }))

function observedPins({ pinsSeen }: World, { id, quietMs }: WorldRevision): RevisionFacts["pins"] {
  const seen = pinsSeen.get(id)
  return seen && { ...seen, quiet_ms: quietMs }
}

function loadOf(world: World) {
  if (world.isShort) return { free_slots: 0, waiting_ms: 5000, loop_utilization: 0.5 }
  return { free_slots: 10, waiting_ms: null, loop_utilization: 0.1 }
}

/** What a unit that serves answers now about revisions that do not serve any more. */
export function pinsOf(world: World): ReadonlyMap<string, Pins> {
  if (!world.with("serving")?.units.some((unit) => seenOf(unit).answer === "ready")) return new Map()
  const former = world.revisions.filter(({ role }) => role === "pinned" || role === "standby")
  return new Map(
    former.map((it) => [it.id, { threads: world.threadsOf(it), has_runs: it.hasRuns, traffic: sharesOf(world) }]),
  )
}

function unitFactsOf(world: World, unit: WorldUnit, { id, role }: WorldRevision): UnitFacts {
  return unitOf(unit.id, {
    revision_id: id,
    role,
    ordinal: unit.ordinal,
    is_ready: unit.isReady,
    is_answering: unit.process === "running" && unit.readyIn <= 0 && !unit.isHung,
    is_down: unit.isDown,
    crashes: unit.crashes,
    is_outdated: unit.generation < world.generation,
    start_in_ms: unit.startIn,
    may_start: unit.startIn <= 0 || unit.generation < world.generation,
    idle_ms: unit.idleMs,
    up_ms: unit.upMs,
    traffic: { open: unit.open, idle_ms: unit.open > 0 ? 0 : unit.idleMs },
    runs_ended: unit.runsEnded,
    runs_failed: unit.runsFailed,
    leaving_ms: unit.leavingMs,
    seen: observationOf(world, unit),
  })
}

export function seenOf(unit: WorldUnit): Observation {
  const seen = processOf(unit)
  return unit.isDisrupted && seen.process !== "absent" ? { ...seen, isDisrupted: true } : seen
}

function processOf(unit: WorldUnit): Observation {
  if (unit.process === "absent") return absent
  if (unit.process === "exited") return exited
  if (unit.isHung) return { process: "running", answer: "hung", report: undefined }
  const isReady = unit.readyIn <= 0
  const report = reportOf({ ready: isReady, serving: unit.isActive, open_streams: unit.open })
  return { process: "running", answer: isReady ? "ready" : "not ready", report }
}
