/** One simulated server: the real claim loop, leases, executor and journal, between a clock, a database, messages and workers that a seed decides about. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import type { Hints } from "@superstep/toolkit/db/hints"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import type { Log } from "@superstep/toolkit/log/log"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import type { Faults } from "@superstep/toolkit/testing/simulation/faults"
import { clockOf, type Life } from "@superstep/toolkit/testing/simulation/life"
import type { SimulatedDatabase } from "@superstep/toolkit/testing/simulation/simulated-database"
import type { Tell } from "@superstep/toolkit/testing/simulation/simulated-log"
import type { Clock } from "@superstep/toolkit/time/clock"
import { Journal } from "../../../checkpoints/journal.js"
import { Streams } from "../../../events/streams.js"
import { leaseTimes } from "../../../servers/lease-times.js"
import { Peers } from "../../../servers/peers.js"
import { testWebhooks } from "../../../webhooks/testing/settings.js"
import { ClaimLoop, localServer } from "../../claim-loop.js"
import { Executor } from "../../executor.js"
import { Known } from "../../known.js"
import type { Runs } from "../../parts.js"
import { Turns } from "../../turns.js"
import { type Execution, SimulatedWorkers } from "./simulated-workers.js"

export const leaseMs = 30_000
export const runTimeoutMs = 90_000
// As long as a statement of the engine may take (databases.ts).
const engineMs = 60_000

/** What is around a server. */
export interface Surroundings {
  readonly clock: Clock
  readonly random: Random
  readonly faults: Faults
  readonly database: SimulatedDatabase
  readonly isCalm: boolean
  readonly tell: Tell
  readonly uuid: () => string
  logOf(life: Life): Log
  send(from: SimulatedServer, channel: string, payload: string): void
  isAway(place: number): boolean
  noteExecution(execution: Execution): void
  kill(place: number): void
  start(place: number, options: { keepsId: boolean }): void
}

/** When something kept a server from its work: it was suspended, or cut from the database. */
export interface Trouble {
  readonly fromMs: number
  readonly toMs: number
}

export class SimulatedServer {
  readonly place: number
  readonly serverId: string
  readonly life: Life = { isOver: false }
  readonly fromMs: number
  /** When it was killed, or had stopped. */
  toMs: number | undefined
  readonly troubles: Trouble[] = []
  readonly workers: SimulatedWorkers
  readonly runs: Runs
  readonly slots: number
  /** Whether it claims runs: from its start until it begins to stop. */
  isServing = false
  readonly #world: Surroundings
  readonly #clock: Clock
  readonly #executor: Executor
  readonly #loop: ClaimLoop
  readonly #peers: Peers
  readonly #journal: Journal
  readonly #streams: Streams
  readonly #listeners = new Map<string, { onNotify: (payload: string) => void; onReconnect: () => void }>()

  constructor(world: Surroundings, place: number, serverId: string) {
    const { random, faults, database } = world
    this.#world = world
    this.place = place
    this.serverId = serverId
    this.fromMs = world.clock.now()
    const { life } = this
    const clock = clockOf(world.clock, life, random.pick([0.95, 1, 1, 1, 1.05]))
    this.#clock = clock
    // One server often has no room, so that runs wait, and others must hear of them.
    this.slots = place === 0 ? random.below(2) : random.between(1, 3)
    const log = world.logOf(life)
    const part = partOf(place)
    const engine = database.of(life, faults, { of: part, failing: 4, hanging: 2, late: 3, delayed: 2 })
    const db = { ...limited(engine, clock, engineMs), uri: engine.uri, listen: this.#listen } as unknown as Database
    const times = leaseTimes(leaseMs)
    const onLeases = database.of(life, faults, { of: part, failing: 3, hanging: 1, late: 1, delayed: 1 })
    const leases: Db = limited(onLeases, clock, times.statementMs)
    const hints: Pick<Hints, "send"> = { send: (channel, payload = "") => world.send(this, channel, payload) }
    const claimer = { serverId, revisionId: null, leaseMs }
    this.#peers = new Peers({ db, log, hints, self: claimer, clock })
    this.#streams = new Streams({ db, hints, log, serverId, clock })
    this.#journal = new Journal({ db, log, clock })
    this.workers = new SimulatedWorkers({
      life,
      clock,
      random,
      journal: this.#journal,
      serverId,
      slots: this.slots,
      now: () => world.clock.now(),
      uuid: world.uuid,
      isCalm: () => world.isCalm,
      onExecution: (execution) => world.noteExecution(execution),
      kill: () => world.kill(place),
    })
    const { workers } = this
    const parts = { db, leases, log, streams: this.#streams, claimer, peers: this.#peers, clock }
    this.#executor = new Executor({ ...parts, workers, journal: this.#journal, runTimeoutMs })
    const { sweepMs, maxGapMs } = times
    this.#loop = new ClaimLoop({ ...parts, executor: this.#executor, hints, sweepMs, maxGapMs, graceMs: leaseMs })
    workers.onFree(() => this.#loop.slotFreed())
    const turns = new Turns({ clock })
    this.runs = {
      ...parts,
      workers,
      executor: this.#executor,
      hints,
      turns,
      maxWaitingRuns: 0,
      known: new Known(),
      webhooks: testWebhooks,
    }
  }

  /** As the program does; one that cannot start exits. */
  async start(): Promise<void> {
    try {
      this.#executor.startRenewing()
      await this.#peers.start(localServer(this.#loop, this.#executor))
      await this.#loop.start()
      this.isServing = true
    } catch (error) {
      this.#world.tell(`server ${this.place} does not start`, String(error))
      this.#world.kill(this.place)
      this.#world.clock.after(2000, () => this.#world.start(this.place, { keepsId: true }))
    }
  }

  /** Stops as the program does when it is asked to. */
  async stop(): Promise<void> {
    this.isServing = false
    await this.#loop.stop()
    await this.#peers.leave()
    await this.workers.stop()
    this.#journal.close()
    // It renews nothing any more, and what it still writes may be on its way for longer than its lease.
    this.#noteTrouble(Infinity)
    await this.#executor.close()
    await this.#peers.close()
    await this.#streams.close()
    this.#world.kill(this.place)
  }

  /** It goes on later, with what came meanwhile; the first news may be that its worker has died. */
  suspend(ms: number): void {
    const { clock, random } = this.#world
    this.life.suspendedUntil = clock.now() + ms
    if (random.below(3) === 0) clock.after(ms, () => this.workers.die())
    this.#noteTrouble(ms)
  }

  /** Its statements fail, and it hears nothing. */
  cut(ms: number): void {
    this.#world.faults.beAway(partOf(this.place), ms)
    this.#noteTrouble(ms)
  }

  /** Called when its connections are back: what was said meanwhile is lost. */
  reconnect(): void {
    this.#clock.after(this.#world.random.between(1, 1000), () => {
      for (const { onReconnect } of this.#listeners.values()) onReconnect()
    })
  }

  /** A message arrives. */
  hear(channel: string, payload: string, afterMs: number): void {
    this.#clock.after(afterMs, () => {
      if (!this.#world.isAway(this.place)) this.#listeners.get(channel)?.onNotify(payload)
    })
  }

  #noteTrouble(ms: number): void {
    const fromMs = this.#world.clock.now()
    this.troubles.push({ fromMs, toMs: fromMs + ms })
  }

  readonly #listen: Database["listen"] = async (channel, onNotify, onReconnect = () => undefined) => {
    this.#listeners.set(channel, { onNotify, onReconnect })
    return { close: async () => void this.#listeners.delete(channel) }
  }
}

/** What a server's calls of the database are for: each server can be cut from it. */
export const partOf = (place: number): string => `database of server ${place}`

type Verbs = Pick<Database, "row" | "rows" | "run" | "transaction">

/** Gives a statement up after a time, as a pool does. It may still have its effect. */
function limited(db: Verbs, clock: Clock, ms: number): Verbs {
  const within = <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const cancel = clock.after(ms, () => reject(new DatabaseUnavailable("a simulated statement took too long", 1000)))
      answer.then(resolve, reject).finally(cancel)
    })
  return {
    row: (statement) => within(db.row(statement)),
    rows: (statement) => within(db.rows(statement)),
    run: (statement) => within(db.run(statement)),
    transaction: (work) => within(db.transaction(work)),
  }
}
