/**
 * A simulated installation: the real pipeline, planner and reconciler on the real database, and around them a machine, units, an edge and a
 * clock that a seed decides about. What must never happen is checked where it would happen.
 */
import { randomBytes, randomUUID } from "node:crypto"
import type { Table } from "@superstep/edge/table"
import { sql } from "@superstep/toolkit/db/sql"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { Faults } from "@superstep/toolkit/testing/simulation/faults"
import { clockOf, type Life } from "@superstep/toolkit/testing/simulation/life"
import { SimulatedClock } from "@superstep/toolkit/testing/simulation/simulated-clock"
import { SimulatedDatabase } from "@superstep/toolkit/testing/simulation/simulated-database"
import { type Tell, teller } from "@superstep/toolkit/testing/simulation/simulated-log"
import type { Session } from "@superstep/toolkit/testing/simulation/simulated-session"
import { pauseFor } from "@superstep/toolkit/time/clock"
import { startPipeline } from "../../pipeline/pipeline.js"
import { startReconciler } from "../../pipeline/reconciler.js"
import type { PipelineContext, PipelineLimits } from "../../planner/context.js"
import { startPlanner } from "../../planner/planner.js"
import { prepareUnits } from "../../planner/platform-start.js"
import { wakeDeployment } from "../../revisions/sleep-queries.js"
import { pipelineChannel } from "../../revisions/wake-up.js"
import { createRouting } from "../../routing/routing.js"
import { masterKey } from "../../secrets/seal.js"
import { testQuotas } from "../api.js"
import { SimulatedEdge } from "./simulated-edge.js"
import { simulatedMachine } from "./simulated-machine.js"
import { type SimulatedUnit, SimulatedUnits, type Temper } from "./simulated-units.js"
import { worldLog } from "./world-log.js"

const limits: PipelineLimits = {
  sourceMs: 60_000,
  healthMs: 60_000,
  verifyRouteMs: 30_000,
  drainMs: 120_000,
  watchMs: 60_000,
  hangMs: 30_000,
  stopGraceMs: 10_000,
  idleMs: 60_000,
  scaleDownMs: 30_000,
  defaultQuotas: testQuotas,
  requestsPerSecond: 0,
  connections: 200,
  builds: 2,
  buildsOfAWorkspace: 2,
  diskOfAWorkspaceMb: 1000,
  keptArtifacts: 5,
  logQuotaBytes: 1e9,
  keptLogDays: { build: 30, deploy: 30 },
}

// Locks are no fault: in calm a deploy meets them, too.
const lockedInCalm = 0.2
// For how many statements in a row: a lock in calm ends soon, and whoever waits is judged (simulate.ts).
const longestLock = 3

const key = masterKey(randomBytes(32))

export class World {
  readonly clock = new SimulatedClock()
  readonly random: Random
  readonly faults: Faults
  readonly database: SimulatedDatabase
  readonly units: SimulatedUnits
  readonly edge: SimulatedEdge
  readonly limits = limits
  readonly key = key
  /** What must never happen, and did. */
  readonly broken: string[] = []
  /** By revision; others are in good order. */
  readonly tempers = new Map<string, Temper>()
  readonly tell: Tell
  /** Called at each named place that a step of the control plane passes. */
  onPoint: (name: string) => void = () => undefined
  #life: { life: Life; wake: (changed: string) => void; wakeUp: (deploymentId: string) => Promise<unknown> } | undefined

  constructor(seed: number, session: Session, tell: (line: string) => void) {
    this.random = seededRandom(seed)
    this.faults = new Faults(this.clock, this.random)
    this.tell = teller(this.clock, tell)
    this.units = new SimulatedUnits(
      this.clock,
      this.random,
      this.faults,
      (id) => this.tempers.get(id) ?? good,
      this.tell,
    )
    this.edge = new SimulatedEdge(this.clock, this.faults)
    this.edge.onTable = (table) => this.#checkTable(table)
    this.database = new SimulatedDatabase(session, this.clock, pipelineChannel)
    // Of its own, so that a history without locks stays the same.
    const locks = seededRandom(seed ^ 0x10cc)
    const locked = locks.pick([0.05, 0])
    const inARow = new Map<string, number>()
    this.database.isLocked = (statement) => {
      const times = inARow.get(statement) ?? 0
      const isLocked = this.faults.areOn ? locks.next() < locked : locks.next() < lockedInCalm && times < longestLock
      inARow.set(statement, isLocked ? times + 1 : 0)
      return isLocked
    }
    this.database.onNotify = (payload) => this.#notify(payload || "routes")
  }

  get db() {
    return this.database.db
  }

  /** Starts a control plane in the place of the one before, which is killed if it runs. */
  async startControlPlane(): Promise<void> {
    this.end()
    const life: Life = { isOver: false }
    this.#life = { life, wake: () => undefined, wakeUp: async () => undefined }
    const context = this.#contextOf(life)
    this.tell("the control plane starts")
    try {
      await prepareUnits(context, true)
    } catch (error) {
      // It exits, and is started again.
      this.tell("the control plane does not start", String(error))
      this.clock.after(2000, () => void (life.isOver || this.startControlPlane()))
      return
    }
    if (life.isOver) return
    const pipeline = startPipeline(context, `simulated/${randomUUID()}`)
    const planner = startPlanner(context)
    const reconciler = startReconciler(context)
    const wake = (changed?: string) => {
      pipeline.wake()
      planner.wake(changed)
      reconciler.wake()
    }
    this.#life = { life, wake, wakeUp: (deploymentId) => wakeDeployment(context.db, deploymentId) }
    wake()
  }

  /** A request came for a deployment that sleeps: the edge asks to wake it. */
  async askToWake(deploymentId: string): Promise<void> {
    // The edge asks again with the next request.
    await this.#life?.wakeUp(deploymentId).catch(() => undefined)
  }

  end(): void {
    if (this.#life) this.#life.life.isOver = true
  }

  breaks(what: string): void {
    this.tell("BROKEN", what)
    this.broken.push(`${what}, at ${(this.clock.now() / 1000).toFixed(3)} s`)
  }

  #contextOf(life: Life): PipelineContext {
    const clock = clockOf(this.clock, life)
    const log = worldLog({ tell: this.tell, life, onProblem: (problem) => this.breaks(problem) })
    const watch = {
      onStop: (unitId: string, graceMs: number) => this.#checkStop(unitId, graceMs),
      finishing: (unitId: string, graceMs: number) => this.#finish(unitId, graceMs),
    }
    const fail = async () => {
      throw new Error("a simulated revision has no source")
    }
    const db = this.database.of(life, this.faults)
    const edge = this.edge.of(life)
    const machine = simulatedMachine(this.units, this.faults, watch, life)
    const crashPoint = (name: string) => void (life.isOver || this.onPoint(name))
    const options = { db, log, key, machine, edge, limits, consoleOrigins: [], crashPoint }
    return {
      ...options,
      routing: createRouting(options),
      clock,
      failures: new MemberFailures(log, () => this.clock.now()),
      sources: { git: { resolve: fail, fetch: fail }, archive: { resolve: fail, fetch: fail } },
      network: {
        sendToUnit: this.units.send(life),
        limitConnections: async () => undefined,
        dropDatabase: async () => undefined,
        revisionBehind: (address: string) => this.#revisionBehind(life, address),
      },
    } as unknown as PipelineContext
  }

  #notify(payload: string): void {
    // The loops look again in any case; a lost notification only makes that later.
    if (this.faults.strikes(20)) return
    for (const _ of this.faults.strikes(20) ? [1, 2] : [1])
      this.clock.after(this.random.between(1, 40), () => {
        if (this.#life && !this.#life.life.isOver) this.#life.wake(payload)
      })
  }

  #revisionBehind(life: Life, address: string): Promise<string | undefined> {
    const name = /\/d\/([^/]+)\/ok$/.exec(address)?.[1]
    const manner = { of: "edge", ms: [5, 50], failing: 0 } as const
    return this.faults.call(life, manner, () => {
      const route = this.edge.table?.routes.find((it) => it.name === name)
      const answers = route?.units.some(({ unit_id }) => {
        const unit = this.units.all.get(unit_id)
        return unit?.isReady && unit.answers === "all"
      })
      return answers ? route?.revision_id : undefined
    })
  }

  /** L4: a unit gets requests only after it said that it is ready, since it was last stopped on purpose. */
  #checkTable(table: Table): void {
    for (const route of table.routes) {
      const shown = JSON.stringify(route.units.map(({ unit_id }) => unit_id))
      if (JSON.stringify(this.edge.routeOf(route.deployment_id)?.units.map(({ unit_id }) => unit_id)) !== shown)
        this.tell(`  the edge sends requests for ${route.deployment_id} to`, shown)
      for (const { unit_id } of route.units) {
        const unit = this.units.all.get(unit_id)
        if (unit && unit.deploymentId !== route.deployment_id)
          this.breaks(`L4: a route has the unit ${unit_id} of another deployment`)
        if (!this.edge.sendsTo(unit_id) && !unit?.hasBeenReady)
          this.breaks(`L4: the edge sends to the unit ${unit_id}, which never said that it is ready`)
      }
    }
  }

  /** L4: a unit is stopped only after the edge has stopped sending to it, and one that retires finishes what it has in its time. */
  async #checkStop(unitId: string, graceMs: number): Promise<void> {
    const unit = this.units.all.get(unitId)
    if (unit?.process !== "running" || graceMs === 0) return
    if (this.edge.sendsTo(unitId)) this.breaks(`L4: the unit ${unitId} is stopped while the edge sends to it`)
    const open = this.edge.openOn(unitId)
    if (open === 0 || unit.answers === "nothing") return
    const row = await this.db.row<{ is_due: boolean }>(sql`
      select r.retire_by <= superstep_now() or d.delete_requested_at is not null or d.desired_run_state = 'paused' as is_due
      from units u join revisions r using (revision_id) join deployments d on d.deployment_id = u.deployment_id
      where u.unit_id = ${unitId} and r.role = 'retiring'`)
    if (row && !row.is_due) this.breaks(`requests go on to their end: ${unitId} is stopped with ${open} open`)
  }

  async #finish(unitId: string, graceMs: number): Promise<void> {
    const end = this.clock.now() + graceMs
    while (this.edge.openOn(unitId) > 0 && this.clock.now() < end) await pauseFor(this.clock, 500)
  }

  /** Units whose process runs. */
  running(): SimulatedUnit[] {
    return [...this.units.all.values()].filter(({ process }) => process === "running")
  }
}

const good: Temper = { startMs: [300, 4000], crashing: 0 }
