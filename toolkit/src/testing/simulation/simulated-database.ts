/**
 * The real database, as a program in a simulation sees it: one statement or transaction at a time, in an order that the simulation
 * chooses; each may fail before or after its effect. `superstep_now()` is the simulated time. Notifications arrive late, or never.
 * A statement that leaves out locked rows may find that all are locked.
 */
import type { Database, Db } from "../../db/database.js"
import { sql } from "../../db/sql.js"
import { DatabaseUnavailable } from "../../db/unavailable.js"
import { type Faults, type Manner, SimulatedFault } from "./faults.js"
import type { Life } from "./life.js"
import type { SimulatedClock } from "./simulated-clock.js"
import type { Asked, Session, Statement } from "./simulated-session.js"

/** The time of the database when a simulation begins. */
const beginning = Date.UTC(2030, 0, 1)

/** Prepares a database for simulations. */
export async function ownTheTime(db: Db): Promise<void> {
  await db.run(sql`
    create or replace function superstep_now() returns timestamptz language sql stable parallel safe as
    $$ select current_setting('superstep.simulated_time')::timestamptz $$`)
  await db.run(sql`
    create or replace function superstep_clock() returns timestamptz language sql volatile parallel safe as
    $$ select superstep_now() $$`)
  // The tables are so small that the planning of a statement takes longer than its execution.
  await db.run(sql`
    do $$ begin execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database()); end $$`)
}

/** What a program and a simulation ask the database with. */
type Part = Pick<Database, "row" | "rows" | "run" | "transaction">

export class SimulatedDatabase {
  readonly #session: Session
  readonly #clock: SimulatedClock
  readonly #channel: string
  readonly #asksTime: RegExp
  #last: Promise<unknown> = Promise.resolve()
  /** How much the clock of the database is ahead of the simulation's, in milliseconds. */
  aheadMs = 0
  #setTo = -1
  /** Whether another transaction has locked the rows that a statement with `skip locked` looks for. */
  isLocked: (statement: string) => boolean = () => false
  /** Called for each notification of a transaction that was committed. */
  onNotify: (payload: string) => void = () => undefined

  /**
   * @param channel   the one whose notifications are told, as `pg_notify(${channel}, …)` sends them
   * @param asksTime  statements that ask for the time by defaults of columns or triggers
   */
  constructor(session: Session, clock: SimulatedClock, channel: string, asksTime: RegExp = /insert into/) {
    this.#session = session
    this.#clock = clock
    this.#channel = channel
    this.#asksTime = asksTime
  }

  /** The clock of the database, in milliseconds since the simulation's began. */
  now(): number {
    return Math.round(this.#clock.now() + this.aheadMs)
  }

  /** For those who watch the simulation, and its clients: no call fails, and none takes time. */
  get db(): Part {
    return databaseOf((work) => this.#inTurn(work))
  }

  /** As one program sees it. */
  of(life: Life, faults: Faults, often: Partial<Manner> = {}): Part & Pick<Session, "uri"> {
    const manner: Manner = { of: "database", ms: [0, 4], failing: 1, hanging: 0.1, ...often }
    const call = <T>(work: (db: Part) => Promise<T>): Promise<T> =>
      faults
        .call(life, manner, () => this.#inTurn(work))
        .catch((cause: unknown) => {
          if (!(cause instanceof SimulatedFault)) throw cause
          throw new DatabaseUnavailable("the simulated connection was lost", 1000, { cause })
        })
    return { ...databaseOf(call), uri: this.#session.uri }
  }

  #inTurn<T>(work: (db: Part) => Promise<T>): Promise<T> {
    return this.#clock.real(async () => {
      const before = this.#last
      const answer = (async () => {
        // Its own caller has its error.
        await before.catch(() => undefined)
        return this.#withNotes(work)
      })()
      this.#last = answer
      return answer
    })
  }

  async #setTime(db: Asked, now: number): Promise<void> {
    if (now === this.#setTo) return
    // For those who record what happens, the simulation's own time, too.
    await db.run(sql`
      select set_config('superstep.simulated_time', ${timeOf(now)}, false),
        set_config('superstep.simulated_ms', ${String(Math.round(this.#clock.now()))}, false)`)
    this.#setTo = now
  }

  /** Notifications are seen as they are sent, since nothing listens at the server. */
  async #withNotes<T>(work: (db: Part) => Promise<T>): Promise<T> {
    const notes: string[] = []
    const noting = (db: Asked): Db => {
      const noted = async (statement: Statement): Promise<Statement> => {
        const { text, values } = statement.render()
        const now = this.now()
        if (this.#asksTime.test(text)) await this.#setTime(db, now)
        if (text.includes("pg_notify(") && values[0] === this.#channel) notes.push(String(values[1] ?? ""))
        const seen = text.includes("skip locked") && this.isLocked(text) ? withoutLocked(text) : text
        return { render: () => withTime(seen, values, now) }
      }
      return {
        rows: async (statement) => db.rows(await noted(statement)),
        row: async (statement) => db.row(await noted(statement)),
        run: async (statement) => db.run(await noted(statement)),
      }
    }
    const transaction: Part["transaction"] = (inner) => this.#session.transaction((tx) => inner(noting(tx)))
    const result = await work({ ...noting(this.#session), transaction }).catch((error: unknown) => {
      // A transaction that is rolled back takes its setting along.
      this.#setTo = -1
      throw error
    })
    for (const note of notes) this.onNotify(note)
    return result
  }
}

function withoutLocked(text: string): string {
  // The value of a limit stays in the statement, which is sent with all its values.
  return text.replace(
    /(?:limit (\S+)\s+)?(for [a-z ]+ skip locked)/g,
    (_, limit, lock) => `limit 0 * (${limit ?? 0}) ${lock}`,
  )
}

const timeOf = (now: number): string => new Date(beginning + now).toISOString()

/** A statement that asks for the time gets it as a value: a trip for each would be a quarter of a simulation. */
function withTime(text: string, values: unknown[], now: number): { text: string; values: unknown[] } {
  if (!text.includes("superstep_now()")) return { text, values }
  const asked = text.replaceAll("superstep_now()", `$${values.length + 1}::timestamptz`)
  return { text: asked, values: [...values, timeOf(now)] }
}

type Call = <T>(work: (db: Part) => Promise<T>) => Promise<T>

const databaseOf = (call: Call): Part => ({
  rows: (statement) => call((db) => db.rows(statement)),
  row: (statement) => call((db) => db.row(statement)),
  run: (statement) => call((db) => db.run(statement)),
  transaction: (work) => call((db) => db.transaction(work)),
})
