/** What actions of the plan do to a world, as the executor does them to units. */

import { backOffMs, startPauseMs } from "../../health/restart.js"
import type { Action } from "../plan.js"
import type { World, WorldRevision } from "./world.js"

export function execute(world: World, action: Action): void {
  switch (action.kind) {
    case "roll back": {
      const [failed, previous] = [world.with("serving"), world.with("standby")]
      if (!failed || !previous) throw new Error("a rollback needs both")
      world.retire(failed, world.limits.drainMs)
      world.serve(previous)
      return
    }
    case "end watch": {
      const standby = world.with("standby")
      if (standby) world.keep(standby)
      return
    }
    case "retire": {
      const revision = world.revisions.find(({ id }) => id === action.revision)
      if (revision) world.retire(revision, world.limits.drainMs)
      return
    }
    case "add unit": {
      const revision = revisionOf(world, action.revision)
      const ordinal = 1 + Math.max(...revision.units.map((unit) => unit.ordinal))
      // An ordinal is used again after its unit has ended, an id is not.
      revision.units.push({ ...world.newUnit(`${revision.id}-${++world.count}`, ordinal), isActive: true })
      revision.scaledMs = revision.loadedMs = 0
      return
    }
    case "take unit away": {
      const { unit_id, revision_id } = action.unit
      const revision = revisionOf(world, revision_id)
      for (const unit of revision.units) if (unit.id === unit_id) unit.leavingMs = 0
      revision.scaledMs = revision.loadedMs = 0
      return
    }
    case "record load":
      revisionOf(world, action.revision).loadedMs = 0
      return
    case "promote": {
      const canary = world.with("canary")
      if (!canary) throw new Error("a promotion needs a canary")
      world.takeOver(canary)
      return
    }
    case "abort": {
      const canary = world.with("canary")
      if (canary) world.retire(canary, world.limits.drainMs)
      return
    }
    case "end pins":
      world.pins.delete(action.revision)
      return
    case "wake":
      world.sleep = "waking"
      return
    case "end sleep":
      world.sleep = "awake"
      return
    case "fall asleep":
      world.sleep = "asleep"
      return
    case "record use":
      return
    case "unit":
      executeOnUnit(world, action)
  }
}

function revisionOf(world: World, revisionId: string): WorldRevision {
  const revision = world.revisions.find(({ id }) => id === revisionId)
  if (!revision) throw new Error(`no revision ${revisionId}`)
  return revision
}

function executeOnUnit(world: World, { does, unit: { unit_id } }: Extract<Action, { kind: "unit" }>): void {
  const revision = world.revisions.find(({ units }) => units.some(({ id }) => id === unit_id))
  const unit = revision?.units.find(({ id }) => id === unit_id)
  if (!revision || !unit) throw new Error(`no unit ${unit_id}`)
  switch (does) {
    case "start":
      Object.assign(unit, {
        process: "running",
        readyIn: 2000,
        upMs: 0,
        isHung: false,
        isDisrupted: false,
        isDown: false,
        generation: world.generation,
      })
      return
    case "stop hung":
    case "record crash":
      unit.process = "exited"
      unit.isHung = false
      unit.isDisrupted = false
      unit.isDown = true
      unit.crashes += 1
      unit.startIn = revision.role === "starting" ? startPauseMs(unit.crashes) : backOffMs(unit.crashes)
      return
    case "record disruption":
      unit.isDown = true
      unit.startIn = backOffMs(1)
      return
    case "activate":
      for (const other of world.revisions.flatMap(({ units }) => units)) other.isActive = revision.units.includes(other)
      world.pinReplaced(revision)
      world.activated(revision)
      world.traffic = { [revision.id]: null }
      for (const { id, weight } of world.revisions.filter(({ role }) => role === "canary"))
        if (weight !== null && weight > 0 && weight < 100) world.traffic[id] = weight
      return
    case "admit":
      unit.isReady = true
      return
    case "hold":
      unit.isReady = false
      return
    case "suspend":
      unit.isReady = false
      unit.process = "absent"
      unit.open = 0
      return
    case "stop":
      unit.process = "absent"
      unit.open = 0
      return
    case "remove":
    case "remove if idle":
    case "remove if hung":
      revision.units = revision.units.filter((it) => it !== unit)
      world.revisions = world.revisions.filter(({ units }) => units.length > 0)
  }
}
