/**
 * Crons in simulated time: the loops of three servers on one real database. A seed decides what clients ask for, when the clock of a time zone
 * changes, which server is killed and when it is back, how long the database is away, and which answers and hints are lost. What the
 * database did is recorded by triggers, so nobody's account of it is believed.
 */
import { randomUUID } from "node:crypto"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { Faults } from "@superstep/toolkit/testing/simulation/faults"
import { clockOf, type Life } from "@superstep/toolkit/testing/simulation/life"
import { SimulatedClock } from "@superstep/toolkit/testing/simulation/simulated-clock"
import { SimulatedDatabase } from "@superstep/toolkit/testing/simulation/simulated-database"
import type { Session } from "@superstep/toolkit/testing/simulation/simulated-session"
import { onBehalfOf } from "../../auth/caller.js"
import { Known } from "../../runs/known.js"
import type { Runs } from "../../runs/operations.js"
import { Turns } from "../../runs/turns.js"
import type { TestServer } from "../../testing/test-server.js"
import { CronLoop } from "../cron-loop.js"
import { deleteCron, prepareCron, updateCron } from "../operations.js"
import { cronPatch, newCron } from "../schema.js"

/** A due time of a cron that was taken, or that a client has set. */
export interface Change {
  readonly cron_id: string
  readonly enabled: boolean
  readonly schedule: string
  readonly timezone: string | null
  readonly end_time: Date | null
  readonly due: Date | null
  readonly next: Date | null
  readonly is_fired: boolean
  /** The time of the change. */
  readonly at: Date
  /** How many runs its transaction created. */
  readonly runs: number
}

export interface History {
  readonly changes: readonly Change[]
  /** When nothing was disturbed any more. */
  readonly calmFrom: Date
  /** The crons whose runs were created by transactions that took no due time. */
  readonly strayRuns: readonly string[]
  readonly overdue: readonly string[]
}

const [second, minute, hour] = [1000, 60_000, 3_600_000]

/** A history begins some hours before one of these: changes of the clock in Berlin and in New York, the 29 February, and an ordinary midnight. */
const moments = [
  "2030-03-31T01:00Z",
  "2030-10-27T01:00Z",
  "2030-03-10T07:00Z",
  "2030-11-03T06:00Z",
  "2032-02-29T00:00Z",
  "2030-06-03T00:00Z",
]
const often = ["*/10 * * * *", "0 * * * *", "5-50/15 * * * *"]
const seldom = ["* 3 * * *", "30 2 * * *", "7,37 0-4 * * *", "@daily", "0 9 * * 1", "0 0 29 2 *"]
const zones = [null, "Europe/Berlin", "America/New_York", "Asia/Kathmandu"]

/** Records what becomes of due times, in tables that only the simulation has. */
export async function recordChanges(db: Database): Promise<void> {
  await db.run(sql`
    create table recorded_changes (seq bigint generated always as identity, transaction bigint not null default txid_current(),
      cron_id uuid, enabled boolean, schedule text, timezone text, end_time timestamptz, due timestamptz, next timestamptz, is_fired boolean,
      at timestamptz default superstep_now())`)
  await db.run(sql`
    create table recorded_runs (transaction bigint not null default txid_current(), cron_id uuid)`)
  // A client's change sets the time of the change; a server that fires does not.
  await db.run(sql`
    create function record_change() returns trigger language plpgsql as $$ begin
      insert into recorded_changes (cron_id, enabled, schedule, timezone, end_time, due, next, is_fired)
      values (new.cron_id, new.enabled, new.schedule, new.timezone, new.end_time, old.next_run_date, new.next_run_date,
        coalesce(new.updated_at = old.updated_at, false));
      return null;
    end $$`)
  await db.run(sql`
    create trigger record_creation after insert on crons for each row execute function record_change()`)
  await db.run(sql`
    create trigger record_change after update on crons for each row when (old.next_run_date is distinct from new.next_run_date)
    execute function record_change()`)
  await db.run(sql`
    create function record_run() returns trigger language plpgsql as $$ begin
      insert into recorded_runs (cron_id) values ((new.metadata ->> 'cron_id')::uuid);
      return null;
    end $$`)
  await db.run(sql`create trigger record_run after insert on runs for each row execute function record_run()`)
}

/** Lives through eight hours of disturbances, and four without any. @param server  whose parts the simulated ones borrow */
export async function simulateCrons(server: TestServer, session: Session, seed: number): Promise<History> {
  const world = new World(server, session, seed)
  return world.live()
}

class World {
  readonly #server: TestServer
  readonly #clock = new SimulatedClock()
  readonly #random: Random
  readonly #faults: Faults
  readonly #database: SimulatedDatabase
  readonly #crons: string[] = []
  readonly #lives = new Map<number, Life & { readonly loop: CronLoop }>()

  constructor(server: TestServer, session: Session, seed: number) {
    this.#server = server
    this.#random = seededRandom(seed)
    this.#faults = new Faults(this.#clock, this.#random)
    const asksTime = /insert into|update crons|create_run|begin_run/
    this.#database = new SimulatedDatabase(session, this.#clock, "no channel", asksTime)
    const locks = seededRandom(seed ^ 0x10cc)
    // Also while nothing fails: the loop looks again by itself.
    this.#database.isLocked = () => locks.next() < 0.05
  }

  async live(): Promise<History> {
    const { db } = this.#database
    await db.run(sql`delete from crons`)
    await db.run(sql`truncate recorded_changes, recorded_runs`)
    const begin = Date.parse(this.#random.pick(moments)) - this.#random.between(hour, 8 * hour)
    await this.#clock.pass(begin - Date.UTC(2030, 0, 1))
    for (const n of [0, 1, 2]) this.#start(n)
    for (let n = 0; n < 6; n++) await this.#create()
    const end = this.#clock.now() + 8 * hour
    while (this.#clock.now() < end) {
      await this.#clock.pass(this.#random.between(second, 40 * minute))
      await this.#disturb()
    }
    this.#faults.areOn = false
    for (const n of [0, 1, 2]) this.#start(n)
    // What waits for an answer that is lost has two minutes; a hint that is lost, one.
    await this.#clock.pass(4 * minute)
    const calm = await db.row<{ now: Date }>(sql`select superstep_now() as now`)
    await this.#clock.pass(4 * hour)
    const overdue = await db.rows<{ cron_id: string }>(
      sql`select cron_id from crons where next_run_date < superstep_now() - interval '1 second'`,
    )
    for (const life of this.#lives.values()) life.isOver = true
    const changes = await db.rows<Change>(sql`
      select c.*, (select count(*) from recorded_runs r where r.transaction = c.transaction and r.cron_id = c.cron_id)::int as runs
      from recorded_changes c order by seq`)
    const strayRuns = await db.rows<{ cron_id: string }>(sql`
      select cron_id from recorded_runs r where not exists (
        select from recorded_changes c where c.is_fired and c.transaction = r.transaction and c.cron_id = r.cron_id)`)
    const idsOf = (rows: readonly { cron_id: string }[]) => rows.map(({ cron_id }) => cron_id)
    return { changes, calmFrom: calm?.now ?? new Date(0), strayRuns: idsOf(strayRuns), overdue: idsOf(overdue) }
  }

  async #disturb(): Promise<void> {
    const n = this.#random.below(3)
    const acts: (() => Promise<void> | void)[] = [
      () => this.#create(),
      () => this.#change(),
      () => this.#delete(),
      () => this.#kill(n),
      () => this.#kill(n),
      () => this.#start(n),
      () => this.#start(n),
      () => this.#faults.beAway("database", this.#random.between(second, 40 * minute)),
    ]
    await this.#random.pick(acts)()
  }

  /** A server that runs is killed first. */
  #start(n: number): void {
    this.#kill(n)
    const life: Life = { isOver: false }
    const clock = clockOf(this.#clock, life)
    const listen = async () => ({ close: async () => undefined })
    const runs: Runs = {
      ...this.#server,
      db: {
        ...this.#database.of(life, this.#faults, { failing: 5, hanging: 5, late: 20 }),
        listen,
      } as unknown as Database,
      claimer: { serverId: randomUUID(), revisionId: null, leaseMs: 30_000 },
      turns: new Turns({ maxWaitMs: 60_000 }),
      known: new Known(),
    }
    const loop = new CronLoop(runs, { clock })
    this.#lives.set(n, Object.assign(life, { loop }))
    void loop.start()
  }

  #kill(n: number): void {
    const life = this.#lives.get(n)
    if (life) life.isOver = true
  }

  /** A hint reaches a server late, or never: a sweep finds what it told of. */
  #hint(): void {
    for (const life of this.#lives.values())
      if (!this.#faults.strikes(100))
        this.#clock.after(this.#random.between(1, 2000), () => void (life.isOver || life.loop.wake()))
  }

  get #parts() {
    const hints = { send: () => this.#hint() }
    return { ...this.#server, db: this.#database.db as unknown as Database, hints }
  }

  async #create(): Promise<void> {
    const { db } = this.#parts
    const create = await prepareCron(
      this.#parts,
      anybody,
      undefined,
      newCron.parse({ assistant_id: "agent", ...(await this.#plan()) }),
    )
    this.#crons.push((await create(db)).cron_id)
    this.#hint()
  }

  async #change(): Promise<void> {
    const body = cronPatch.parse({ ...(await this.#plan()), enabled: this.#random.below(5) > 0 })
    await this.#ofOne((cronId) => updateCron(this.#parts, anybody, cronId, body))
  }

  #delete(): Promise<void> {
    if (this.#crons.length < 5) return Promise.resolve()
    return this.#ofOne((cronId) => {
      this.#crons.splice(this.#crons.indexOf(cronId), 1)
      return deleteCron(this.#parts, anybody, cronId)
    })
  }

  async #ofOne(work: (cronId: string) => Promise<unknown>): Promise<void> {
    if (this.#crons.length > 0) await work(this.#random.pick(this.#crons))
  }

  async #plan() {
    const row = await this.#database.db.row<{ now: Date }>(sql`select superstep_now() as now`)
    const end = new Date((row?.now.getTime() ?? 0) + this.#random.between(minute, 30 * hour))
    return {
      schedule: this.#random.pick(this.#random.below(2) === 0 ? often : seldom),
      timezone: this.#random.pick(zones),
      end_time: this.#random.below(4) === 0 ? end.toISOString() : null,
    }
  }
}

const anybody = onBehalfOf(undefined)
