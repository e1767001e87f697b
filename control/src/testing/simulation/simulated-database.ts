/**
 * The real database, as a control plane in a simulation sees it: one statement or transaction at a time, in an order that the simulation
 * chooses; each may fail before or after its effect. `superstep_now()` is the simulated time. Notifications arrive late, or never.
 */
import { type Database, type Db, openDatabase } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { pipelineChannel } from "../../revisions/wake-up.js"
import { type Faults, type Life, SimulatedFault } from "./faults.js"
import type { SimulatedClock } from "./simulated-clock.js"

/** The time of the database when a simulation begins. */
const beginning = Date.UTC(2030, 0, 1)

/** Prepares a database for simulations. Its sessions must all be of `simulatedSessions`. */
export async function ownTheTime(db: Db): Promise<void> {
  await db.run(sql`
    create or replace function superstep_now() returns timestamptz language sql stable parallel safe as
    $$ select current_setting('superstep.simulated_time')::timestamptz $$`)
  // The tables are so small that the planning of a statement takes longer than its execution.
  await db.run(sql`
    do $$ begin execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database()); end $$`)
}

/** One session: `set_config` is of the session. */
export const simulatedSessions = (uri: string): Database => openDatabase({ uri, poolSize: 1, log: silent })

export class SimulatedDatabase {
  readonly #sessions: Database
  readonly #clock: SimulatedClock
  #last: Promise<unknown> = Promise.resolve()
  #setTo = -1
  /** Called for each notification of a transaction that was committed. */
  onNotify: (payload: string) => void = () => undefined

  constructor(sessions: Database, clock: SimulatedClock) {
    this.#sessions = sessions
    this.#clock = clock
  }

  /** For those who watch the simulation, and its clients: no call fails, and none takes time. */
  get db(): Pick<Database, "row" | "rows" | "run" | "transaction"> {
    return databaseOf((work) => this.#inTurn(work))
  }

  /** As one control plane sees it. */
  of(life: Life, faults: Faults): Database {
    const manner = { of: "database", ms: [0, 4], failing: 1, hanging: 0.1 } as const
    const call = <T>(work: (sessions: Database) => Promise<T>): Promise<T> =>
      faults
        .call(life, manner, () => this.#inTurn(work))
        .catch((cause: unknown) => {
          if (!(cause instanceof SimulatedFault)) throw cause
          throw new DatabaseUnavailable("the simulated connection was lost", 1000, { cause })
        })
    return { ...this.#sessions, ...databaseOf(call) }
  }

  #inTurn<T>(work: (sessions: Database) => Promise<T>): Promise<T> {
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

  /** Before each statement that asks for the time itself or by a column's default: a trip for each statement would be a third of a simulation. */
  async #setTime(db: Db, text: string): Promise<void> {
    const now = Math.round(this.#clock.now())
    if (now === this.#setTo || !/superstep_now|insert into/.test(text)) return
    const time = new Date(beginning + now).toISOString()
    await db.run(sql`select set_config('superstep.simulated_time', ${time}, false)`)
    this.#setTo = now
  }

  /** Notifications are seen as they are sent, since nothing listens at the server. */
  async #withNotes<T>(work: (sessions: Database) => Promise<T>): Promise<T> {
    const notes: string[] = []
    const noting = (db: Db): Db => {
      const noted = async (statement: Sql) => {
        const { text, values } = statement.render()
        await this.#setTime(db, text)
        if (text.includes("pg_notify(") && values[0] === pipelineChannel) notes.push(String(values[1] ?? "routes"))
        return statement
      }
      return {
        rows: async (statement) => db.rows(await noted(statement)),
        row: async (statement) => db.row(await noted(statement)),
        run: async (statement) => db.run(await noted(statement)),
      }
    }
    const sessions = this.#sessions
    const transaction: Database["transaction"] = (inner) => sessions.transaction((tx) => inner(noting(tx)))
    const result = await work({ ...sessions, ...noting(sessions), transaction }).catch((error: unknown) => {
      // A transaction that is rolled back takes its setting along.
      this.#setTo = -1
      throw error
    })
    for (const note of notes) this.onNotify(note)
    return result
  }
}

type Call = <T>(work: (sessions: Database) => Promise<T>) => Promise<T>

const databaseOf = (call: Call): Pick<Database, "row" | "rows" | "run" | "transaction"> => ({
  rows: (statement) => call((db) => db.rows(statement)),
  row: (statement) => call((db) => db.row(statement)),
  run: (statement) => call((db) => db.run(statement)),
  transaction: (work) => call((db) => db.transaction(work)),
})
