/**
 * The units of a simulation: processes that start slowly, crash, hang and report, and the databases of their deployments, which say which
 * revision executes runs and what is pinned.
 */

import { Readable } from "node:stream"
import type { UnitSpec, UnitStatus } from "@superstep/machines/port/port"
import type { Pins, Shares, UnitReport } from "@superstep/machines/unit-client/unit-replies"
import type { SendToUnit, UnitReply, UnitRequest } from "@superstep/machines/unit-client/unit-request"
import { unixAddress, unixPathOf } from "@superstep/protocol/http/address"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import type { Faults } from "@superstep/toolkit/testing/simulation/faults"
import { type Life, never } from "@superstep/toolkit/testing/simulation/life"
import type { SimulatedClock } from "@superstep/toolkit/testing/simulation/simulated-clock"
import type { Tell } from "@superstep/toolkit/testing/simulation/simulated-log"
import { storableText } from "@superstep/toolkit/text/storable"
import { pauseFor } from "@superstep/toolkit/time/clock"
import { reportOf } from "../../planner/testing/facts.js"

/** What a revision's program is like. */
export interface Temper {
  /** From the start of its process until it is ready, at least and at most, in milliseconds. */
  readonly startMs: readonly [number, number]
  /** How many of a thousand starts end in a crash. */
  readonly crashing: number
}

export interface SimulatedUnit {
  readonly id: string
  readonly deploymentId: string
  readonly revisionId: string
  readonly temper: Temper
  process: UnitStatus["state"]
  /** Which start of it this is. */
  start: number
  isDisrupted: boolean
  isReady: boolean
  /** Since it was stopped on purpose. */
  hasBeenReady: boolean
  /** `live`: it is busy, and answers only the question that waits for nothing. */
  answers: "all" | "live" | "nothing"
  runningRuns: number
  openStreams: number
  ended: number
  failed: number
  workerCrashes: number
  readonly watchers: Set<() => void>
}

/** What a deployment's own database says. */
export interface DeploymentState {
  traffic: Shares
  readonly pins: Map<string, { threads: number; has_runs: boolean }>
  /** Threads that are paused: the next switch pins them to the revision before. */
  paused: number
  /** Runs wait for room. */
  isShort: boolean
}

export class SimulatedUnits {
  readonly all = new Map<string, SimulatedUnit>()
  readonly deployments = new Map<string, DeploymentState>()
  readonly #clock: SimulatedClock
  readonly #random: Random
  readonly #faults: Faults
  readonly #temperOf: (revisionId: string) => Temper
  readonly #tell: Tell

  constructor(
    clock: SimulatedClock,
    random: Random,
    faults: Faults,
    temperOf: (revisionId: string) => Temper,
    tell: Tell,
  ) {
    this.#tell = tell
    this.#clock = clock
    this.#random = random
    this.#faults = faults
    this.#temperOf = temperOf
  }

  stateOf(deploymentId: string): DeploymentState {
    const known = this.deployments.get(deploymentId)
    if (known) return known
    const state: DeploymentState = { traffic: [], pins: new Map(), paused: 0, isShort: false }
    this.deployments.set(deploymentId, state)
    return state
  }

  /** Starts its process, unless it runs. */
  begin(spec: UnitSpec): void {
    const unit = this.all.get(spec.unitId) ?? this.#newUnit(spec)
    if (unit.process === "running") return
    Object.assign(unit, {
      process: "running",
      isReady: false,
      isDisrupted: false,
      answers: "all",
      start: unit.start + 1,
    })
    this.#tell("  unit starts", unit.id)
    const { startMs, crashing } = unit.temper
    const [ms, start] = [this.#random.between(...startMs), unit.start]
    const crashes = this.#random.next() * 1000 < crashing && this.#faults.areOn
    this.#clock.after(ms, () => {
      if (unit.start !== start || unit.process !== "running") return
      if (crashes) return this.exit(unit)
      this.#tell("  unit is ready", unit.id)
      unit.isReady = true
      unit.hasBeenReady = true
      this.changed(unit)
      this.#executePinned(unit)
    })
  }

  /** Its process ends by itself. */
  exit(unit: SimulatedUnit, process: "exited" | "absent" = "exited"): void {
    this.#tell(process === "exited" ? "  unit ends by itself" : "  unit is stopped", unit.id)
    Object.assign(unit, {
      process,
      isReady: false,
      runningRuns: 0,
      openStreams: 0,
      ended: 0,
      failed: 0,
      workerCrashes: 0,
    })
    this.changed(unit)
  }

  /** It was stopped on purpose. Without time for what it has, that is a crash: the edge goes on to try it, as one that ended by itself. */
  stop(unit: SimulatedUnit, graceMs: number): void {
    this.exit(unit, "absent")
    if (graceMs > 0) unit.hasBeenReady = false
    unit.isDisrupted = false
  }

  changed(unit: SimulatedUnit): void {
    for (const watcher of [...unit.watchers]) watcher()
  }

  statusOf(unitId: string): UnitStatus {
    const unit = this.all.get(unitId)
    if (!unit || unit.process === "absent") return { state: "absent" }
    return { state: unit.process, ...(unit.isDisrupted && { isDisrupted: true }) }
  }

  reportOf(unit: SimulatedUnit): UnitReport {
    const { traffic, isShort } = this.stateOf(unit.deploymentId)
    return reportOf({
      revision_id: unit.revisionId,
      pid: unit.start,
      ready: unit.isReady,
      serving: traffic[0]?.revision_id === unit.revisionId,
      traffic,
      runs: { ended: unit.ended, failed: unit.failed },
      load: isShort
        ? { free_slots: 0, waiting_ms: 5000, loop_utilization: 0.5 }
        : { free_slots: 10, waiting_ms: null, loop_utilization: 0.1 },
      running_runs: unit.runningRuns,
      open_streams: unit.openStreams,
      worker_crashes: {
        count: unit.workerCrashes,
        last: unit.workerCrashes > 0 ? storableText("exit code 1", 100) : null,
      },
    })
  }

  /** How one control plane sends requests to units. */
  send(life: Life): SendToUnit {
    return async ({ address }, asked, signal) => {
      const unit = this.all.get((unixPathOf(address) ?? "").slice(1))
      await this.#wait(life, signal, this.#random.between(1, 20))
      if (unit?.process !== "running") throw failure("ECONNREFUSED")
      const isAnswered = unit.answers === "all" || (unit.answers === "live" && asked.path === "/internal/live")
      if (!isAnswered) await this.#wait(life, signal, Number.POSITIVE_INFINITY)
      if (this.#faults.strikes(4)) throw failure("ECONNRESET")
      const reply = await this.#answer(life, unit, asked, signal)
      if (this.#faults.strikes(4)) throw failure("ECONNRESET")
      return reply
    }
  }

  async #answer(life: Life, unit: SimulatedUnit, { method, path, body }: UnitRequest, signal: AbortSignal) {
    const state = this.stateOf(unit.deploymentId)
    const { pathname, searchParams } = new URL(path, "http://unit")
    if (searchParams.has("watch")) return this.#watch(life, unit, Number(searchParams.get("watch")), signal)
    if (pathname === "/internal/status") {
      const until = this.#clock.now() + Number(searchParams.get("wait_ms") ?? 0)
      while (!unit.isReady && this.#clock.now() < until) await this.#wait(life, signal, 100)
      if (unit.process !== "running") throw failure("ECONNRESET")
      return replyOf(this.reportOf(unit))
    }
    if (pathname === "/internal/live") return replyOf({})
    if (pathname === "/internal/idle")
      return replyOf({ is_idle: unit.runningRuns + unit.openStreams === 0 && !state.isShort, next_due_ms: null })
    if (pathname === "/internal/orphans") return replyOf({ checked: 0, orphaned: 0, examples: [], is_complete: true })
    if (pathname === "/internal/activate") {
      this.#activate(unit, JSON.parse(body))
      return replyOf({})
    }
    const revisionId = /^\/internal\/pins\/(.+)$/.exec(pathname)?.[1] ?? ""
    if (method === "DELETE") state.pins.delete(revisionId)
    const { threads = 0, has_runs = false } = state.pins.get(revisionId) ?? {}
    return replyOf({ threads, has_runs, traffic: [...state.traffic] } satisfies Pins)
  }

  #activate(
    { deploymentId, revisionId }: SimulatedUnit,
    { keep, canary }: { keep: string[]; canary?: { revision_id: string; weight: number } },
  ): void {
    const state = this.stateOf(deploymentId)
    const before = state.traffic.filter((it) => it.revision_id !== revisionId && it.revision_id !== canary?.revision_id)
    for (const { revision_id } of before) this.#pin(state, revision_id)
    for (const pinned of [...state.pins.keys()])
      if (pinned !== revisionId && !keep.includes(pinned)) state.pins.delete(pinned)
    state.traffic = [{ revision_id: revisionId, weight: null }, ...(canary ? [canary] : [])]
    for (const unit of this.all.values()) if (unit.deploymentId === deploymentId) this.changed(unit)
  }

  #pin(state: DeploymentState, revisionId: string): void {
    if (state.paused === 0) return
    const threads = (state.pins.get(revisionId)?.threads ?? 0) + state.paused
    state.pins.set(revisionId, { threads, has_runs: false })
    state.paused = 0
  }

  /** Runs that wait for its revision are executed by a unit that is ready. */
  #executePinned({ deploymentId, revisionId }: SimulatedUnit): void {
    const pins = this.stateOf(deploymentId).pins.get(revisionId)
    if (!pins?.has_runs) return
    this.#clock.after(this.#random.between(100, 3000), () => Object.assign(pins, { threads: 0, has_runs: false }))
  }

  /** Its status, each change of it, and an empty line now and then. Lines are late, and those of an ended process may still come. */
  #watch(life: Life, unit: SimulatedUnit, everyMs: number, signal: AbortSignal): UnitReply {
    const lines = new Readable({ read: () => undefined })
    // Read by the watch, unless that has ended.
    lines.on("error", () => undefined)
    const { start } = unit
    const isOpen = () => !(lines.destroyed || life.isOver)
    const write = (text: string) =>
      this.#clock.after(this.#random.between(1, 60), () => void (isOpen() && lines.push(text)))
    const close = () => {
      unit.watchers.delete(tell)
      this.#clock.after(this.#random.between(60, 500), () => void (isOpen() && lines.push(null)))
    }
    const tell = () => {
      if (!isOpen()) unit.watchers.delete(tell)
      else if (unit.start !== start || unit.process !== "running") close()
      else if (unit.answers === "all") write(`${JSON.stringify(this.reportOf(unit))}\n`)
    }
    const beat = () => {
      if (!isOpen() || unit.start !== start || unit.process !== "running") return
      if (unit.answers === "all") write("\n")
      this.#clock.after(everyMs, beat)
    }
    unit.watchers.add(tell)
    tell()
    this.#clock.after(everyMs, beat)
    signal.addEventListener("abort", () => {
      unit.watchers.delete(tell)
      lines.destroy(signal.reason)
    })
    return Object.assign(lines, { statusCode: 200 })
  }

  async #wait(life: Life, signal: AbortSignal, ms: number): Promise<void> {
    const isOver = ms === Number.POSITIVE_INFINITY ? await aborted(signal) : await pauseFor(this.#clock, ms, signal)
    if (life.isOver) await never
    if (!isOver) throw signal.reason
  }

  #newUnit({ unitId, deploymentId, revisionId }: UnitSpec): SimulatedUnit {
    const unit: SimulatedUnit = {
      id: unitId,
      deploymentId,
      revisionId,
      temper: this.#temperOf(revisionId),
      process: "absent",
      start: 0,
      isDisrupted: false,
      isReady: false,
      hasBeenReady: false,
      answers: "all",
      runningRuns: 0,
      openStreams: 0,
      ended: 0,
      failed: 0,
      workerCrashes: 0,
      watchers: new Set(),
    }
    this.all.set(unitId, unit)
    return unit
  }
}

export const addressOf = (unitId: string) => unixAddress(`/${unitId}`)

const replyOf = (body: object): UnitReply =>
  Object.assign(Readable.from([Buffer.from(JSON.stringify(body))]), { statusCode: 200 })

const failure = (code: string): Error => Object.assign(new Error(`simulated ${code}`), { code })

/** @returns false, when it is aborted */
const aborted = (signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(false)
    signal.addEventListener("abort", () => resolve(false))
  })
