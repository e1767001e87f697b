/**
 * A world in memory for the plan: a deployment whose facts change by chance. Here is what the pipeline's stages do to it. `world-facts.ts`
 * is what the planner sees of it, `world-effects.ts` what actions do to it. Time passes only by `pass` (`world-pass.ts`).
 */

import type { Pins } from "@superstep/machines/unit-client/unit-replies"
import { crashesThatEndADeploy } from "../../health/restart.js"
import type { Role } from "../../revisions/revision.js"
import type { Observation } from "../facts.js"
import type { PlanLimits } from "../plan-unit.js"

export interface WorldUnit {
  readonly id: string
  readonly ordinal: number
  process: Observation["process"]
  /** How long until a running process is ready, in milliseconds. */
  readyIn: number
  isHung: boolean
  /** Somebody else ends or has ended it. */
  isDisrupted: boolean
  isReady: boolean
  isDown: boolean
  crashes: number
  startIn: number
  generation: number
  isActive: boolean
  open: number
  idleMs: number
  upMs: number
  runsEnded: number
  /** For how long it is being taken away; null: it stays. */
  leavingMs: number | null
  runsFailed: number
}

export interface WorldRevision {
  readonly id: string
  role: Role
  isSettled: boolean
  /** Since it was settled, or began to start. */
  settledMs: number
  retireIn: number
  pinnedMs: number
  /** Whether a run of a thread that is pinned to it waits. */
  hasRuns: boolean
  quietMs: number
  /** The percentage of the threads that it gets once it is the canary. */
  weight: number | null
  readonly minUnits: number
  readonly maxUnits: number
  scaledMs: number | null
  loadedMs: number | null
  units: WorldUnit[]
}

// How long the deploy stage waits for units.
const healthMs = 60_000

export class World {
  readonly limits: PlanLimits & { readonly drainMs: number } = {
    watchMs: 60_000,
    idleMs: 30_000,
    drainMs: 120_000,
    scaleDownMs: 30_000,
  }
  revisions: WorldRevision[] = []
  isPaused = false
  isDeleted = false
  sleep: "awake" | "asleep" | "waking" = "awake"
  generation = 0
  maySleep = false
  isSwitching = false
  /** How many threads are paused: the next switch pins them to the revision before. */
  paused = 0
  /** How many threads are pinned, by revision: in the deployment's own database. */
  readonly pins = new Map<string, number>()
  /** What a unit that serves answered last about pins: before the actions of the last pass. */
  pinsSeen: ReadonlyMap<string, Pins> = new Map()
  /** The shares of the revisions that execute runs, in the deployment's own database; null: the rest. */
  traffic: Record<string, number | null> = {}
  rollbackMinRuns: number | null = null
  /** Runs wait for room. */
  isShort = false
  /** How many ids were given out. */
  count = 0

  with(role: Role): WorldRevision | undefined {
    return this.revisions.find((revision) => revision.role === role)
  }

  /** What the deploy stage does: units that start for the first time. */
  deploy(replicas: number, weight: number | null = null): void {
    if (this.isDeleted || this.with("starting")) return
    const id = `r${++this.count}`
    const units = Array.from(
      { length: replicas },
      (_, ordinal): WorldUnit => ({ ...this.newUnit(id, ordinal), process: "running", readyIn: 2000, isReady: true }),
    )
    this.revisions.push({
      id,
      role: "starting",
      isSettled: false,
      settledMs: 0,
      retireIn: 0,
      pinnedMs: 0,
      hasRuns: false,
      quietMs: 0,
      weight,
      minUnits: replicas,
      maxUnits: replicas + 2,
      scaledMs: null,
      loadedMs: null,
      units,
    })
  }

  /** One that was never started. */
  newUnit(revisionId: string, ordinal: number): WorldUnit {
    return {
      id: `${revisionId}-${ordinal}`,
      ordinal,
      process: "absent",
      readyIn: 0,
      isHung: false,
      isDisrupted: false,
      isReady: false,
      isDown: false,
      crashes: 0,
      startIn: 0,
      generation: this.generation,
      isActive: false,
      open: 0,
      idleMs: 0,
      upMs: 0,
      runsEnded: 0,
      runsFailed: 0,
      leavingMs: null,
    }
  }

  /** What the stages do as time goes by: the switch when all are ready, or the end when one crashed too often. */
  stages(): void {
    const starting = this.with("starting")
    if (!starting || starting.isSettled) return
    const isTooLate = starting.settledMs >= healthMs
    if (this.isDeleted || isTooLate || starting.units.some(({ crashes }) => crashes >= crashesThatEndADeploy)) {
      this.retire(starting, 0)
      return
    }
    if (!starting.units.every((unit) => unit.process === "running" && unit.readyIn <= 0 && !unit.isHung)) return
    const serving = this.with("serving")
    const canary = this.with("canary")
    if (serving && starting.weight !== null) {
      if (canary) this.keep(canary)
      starting.role = "canary"
      starting.isSettled = true
      starting.settledMs = 0
      for (const unit of starting.units) unit.crashes = 0
      return
    }
    this.takeOver(starting)
    starting.isSettled = true
    starting.settledMs = 0
  }

  /** What a switch and a promotion do. */
  takeOver(starting: WorldRevision): void {
    const serving = this.with("serving")
    for (const other of [this.with("standby"), this.with("canary")]) if (other && other !== starting) this.keep(other)
    this.activated(starting)
    if (serving) {
      this.pins.set(serving.id, this.threadsOf(serving) + this.paused)
      serving.role = "standby"
    }
    this.paused = 0
    this.serve(starting)
    for (const unit of starting.units) unit.isActive = true
    this.traffic = { [starting.id]: null }
  }

  serve(revision: WorldRevision): void {
    revision.role = "serving"
    revision.weight = null
    revision.settledMs = revision.loadedMs = 0
    for (const unit of this.revisions.flatMap(({ units }) => units)) unit.isActive = false
    for (const unit of revision.units) Object.assign(unit, { crashes: 0, isDown: false })
    this.sleep = "awake"
  }

  threadsOf({ id }: Pick<WorldRevision, "id">): number {
    return this.pins.get(id) ?? 0
  }

  /** What verify does when the public address does not answer. */
  failVerify(): void {
    const [failed, previous] = [this.with("serving"), this.with("standby")]
    if (!failed || !previous) return
    this.retire(failed, this.limits.drainMs)
    this.serve(previous)
  }

  /** A canary that was replaced keeps the threads that are paused on it, from the activation on that takes its share away. */
  pinReplaced({ id: active }: WorldRevision): void {
    for (const { id, role } of this.revisions) {
      if (id === active || role !== "pinned" || !(id in this.traffic)) continue
      this.pins.set(id, this.threadsOf({ id }) + this.paused)
      this.paused = 0
    }
  }

  /** Pins to revisions that execute nothing any more end with each activation. */
  activated({ id }: WorldRevision): void {
    const kept = this.revisions.filter(({ role }) => ["serving", "standby", "canary", "pinned"].includes(role))
    for (const pinned of this.pins.keys())
      if (pinned !== id && !kept.some((it) => it.id === pinned)) this.pins.delete(pinned)
  }

  keep(revision: WorldRevision): void {
    revision.role = "pinned"
    revision.weight = null
    revision.pinnedMs = 0
  }

  retire(revision: WorldRevision, drainMs: number): void {
    revision.role = "retiring"
    revision.weight = null
    revision.isSettled = true
    revision.retireIn = drainMs
    for (const unit of revision.units) unit.isActive = false
  }
}
