/** Simulated servers on one real database: what a seed does to them, to their messages and to the clock of the database. */
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { onBrokenRule } from "@superstep/toolkit/errors/must"
import type { Log } from "@superstep/toolkit/log/log"
import { type Random, seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { Faults, SimulatedFault } from "@superstep/toolkit/testing/simulation/faults"
import type { Life } from "@superstep/toolkit/testing/simulation/life"
import { SimulatedClock } from "@superstep/toolkit/testing/simulation/simulated-clock"
import { SimulatedDatabase } from "@superstep/toolkit/testing/simulation/simulated-database"
import { simulatedLog, type Tell, teller } from "@superstep/toolkit/testing/simulation/simulated-log"
import type { Session } from "@superstep/toolkit/testing/simulation/simulated-session"
import { ClaimLost } from "../../../workers/fence.js"
import { partOf, SimulatedServer, type Surroundings } from "./simulated-server.js"
import type { Execution } from "./simulated-workers.js"

export const places = [0, 1, 2] as const

// What disturbs all servers is a whole outage for them. Two that follow each other at once would be one that is longer than its parts.
const restMs = 45_000

export class World implements Surroundings {
  readonly clock = new SimulatedClock()
  readonly random: Random
  readonly faults: Faults
  readonly database: SimulatedDatabase
  readonly tell: Tell
  /** What must never happen, and did. */
  readonly broken: string[] = []
  /** All servers that there ever were. */
  readonly servers: SimulatedServer[] = []
  readonly executions = new Map<string, Execution>()
  /** Whether nothing is disturbed any more; messages may still be lost. */
  isCalm = false
  readonly #awayUntil = new Map<string, number>()
  #nextOutageAt = 0
  readonly #forgetRules: () => void

  constructor(seed: number, session: Session, print: (line: string) => void) {
    this.random = seededRandom(seed)
    this.faults = new Faults(this.clock, this.random)
    this.tell = teller(this.clock, print)
    const asksTime =
      /insert into|update |delete from|begin_run|requeue_run|commit_attempts|stop_run|give_back_after_loss/
    this.database = new SimulatedDatabase(session, this.clock, "no channel", asksTime)
    const locks = seededRandom(seed ^ 0x10cc)
    this.database.isLocked = () => this.faults.areOn && locks.next() < 0.05
    this.#forgetRules = onBrokenRule((broken) => this.breaks(broken.message))
  }

  get db() {
    return this.database.db
  }

  /** Ids of a seed are always the same: statements sort by them. */
  readonly uuid = (): string => {
    const part = () =>
      Math.floor(this.random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, "0")
    const [a, b, c, d] = [part(), part(), part(), part()]
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`
  }

  breaks(what: string): void {
    this.tell("BROKEN", what)
    this.broken.push(`${what}, at ${(this.clock.now() / 1000).toFixed(3)} s`)
  }

  end(): void {
    for (const place of places) this.kill(place)
    this.#forgetRules()
  }

  /** The present server of a place, if it lives. */
  at(place: number): SimulatedServer | undefined {
    return this.servers.findLast((server) => server.place === place && !server.life.isOver)
  }

  /** Starts a server in a place whose former one is over. */
  start(place: number, { keepsId }: { keepsId: boolean }): void {
    if (this.at(place)) return
    const former = this.servers.findLast((server) => server.place === place)
    const server = new SimulatedServer(this, place, keepsId && former ? former.serverId : this.uuid())
    this.servers.push(server)
    this.tell(`server ${place} starts with ${server.slots} slots`, server.serverId)
    void server.start()
  }

  kill(place: number): void {
    const server = this.at(place)
    if (!server) return
    this.tell(`server ${place} is gone`)
    server.life.isOver = true
    server.isServing = false
    server.toMs = this.clock.now()
  }

  /** The clock of the database jumps, which looks like an outage to all servers. */
  jump(ms: number): void {
    if (this.clock.now() < this.#nextOutageAt) return
    this.#nextOutageAt = this.clock.now() + restMs
    this.tell(`— the clock of the database jumps by ${ms} ms`)
    this.database.aheadMs += ms
  }

  /** The database is away for all servers. */
  outage(ms: number): void {
    if (this.clock.now() < this.#nextOutageAt) return
    this.#nextOutageAt = this.clock.now() + ms + restMs
    this.tell(`— the database is away for ${ms} ms`)
    for (const place of places) this.#beAway(place, ms, () => this.faults.beAway(partOf(place), ms))
  }

  cut(place: number, ms: number): void {
    const server = this.at(place)
    if (!server) return
    this.tell(`— server ${place} is cut from the database for ${ms} ms`)
    this.#beAway(place, ms, () => server.cut(ms))
  }

  #beAway(place: number, ms: number, away: () => void): void {
    const untilMs = this.clock.now() + ms
    if (untilMs <= (this.#awayUntil.get(partOf(place)) ?? 0)) return
    away()
    this.#awayUntil.set(partOf(place), untilMs)
    this.clock.after(ms, () => void (this.isAway(place) || this.at(place)?.reconnect()))
  }

  isAway(place: number): boolean {
    return !this.isCalm && this.clock.now() < (this.#awayUntil.get(partOf(place)) ?? 0)
  }

  /** Messages are hints: some are late, said twice, or lost, also while nothing else fails. */
  send(from: SimulatedServer, channel: string, payload: string): void {
    if (this.isAway(from.place) || this.random.below(100) < (this.isCalm ? 50 : 15)) return
    for (const server of this.servers) {
      if (server.life.isOver) continue
      for (let times = this.random.below(50) === 0 ? 2 : 1; times > 0; times--)
        server.hear(channel, payload, this.random.below(30) === 0 ? 3000 : this.random.between(1, 40))
    }
  }

  /** The newest execution of a run by a server that lives. */
  executionOf(runId: string): { readonly server: SimulatedServer } | undefined {
    const execution = [...this.executions.values()].findLast((it) => it.runId === runId && it.toMs === undefined)
    const server = this.servers.find(({ serverId, life }) => serverId === execution?.serverId && !life.isOver)
    return server && { server }
  }

  noteExecution(execution: Execution): void {
    this.tell(`run ${execution.runId} executes, server`, execution.serverId)
    if (this.executions.has(execution.claimId)) this.breaks(`R1: the claim ${execution.claimId} is executed twice`)
    this.executions.set(execution.claimId, execution)
  }

  logOf(life: Life): Log {
    return simulatedLog({ tell: this.tell, life, isPlanned, onProblem: (problem) => this.breaks(problem) })
  }
}

const known = [SimulatedFault, DatabaseUnavailable, Unavailable, ClaimLost]
const isPlanned = (err: unknown): boolean => known.some((type) => err instanceof type)
