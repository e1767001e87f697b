/**
 * The real database, as a control plane in a simulation sees it: one statement or transaction at a time, in an order that the simulation
 * chooses; each may fail before or after its effect. `superstep_now()` is the simulated time. Notifications arrive late, or never.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { pipelineChannel } from "../../revisions/wake-up.js"
import { type Faults, type Life, SimulatedFault } from "./faults.js"
import type { SimulatedClock } from "./simulated-clock.js"
import type { Asked, Session, Statement } from "./simulated-session.js"

/** The time of the database when a simulation begins. */
const beginning = Date.UTC(2030, 0, 1)

/** Prepares a database for simulations. */
export async function ownTheTime(db: Db): Promise<void> {
  await db.run(sql`
    create or replace function superstep_now() returns timestamptz language sql stable parallel safe as
    $$ select current_setting('superstep.simulated_time')::timestamptz $$`)
  // The tables are so small that the planning of a statement takes longer than its execution.
  await db.run(sql`
    do $$ begin execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database()); end $$`)
}

/** What a control plane and a simulation ask the database with. */
type Part = Pick<Database, "row" | "rows" | "run" | "transaction">

export class SimulatedDatabase {
  readonly #session: Session
  readonly #clock: SimulatedClock
  #last: Promise<unknown> = Promise.resolve()
  #setTo = -1
  /** Called for each notification of a transaction that was committed. */
  onNotify: (payload: string) => void = () => undefined

  constructor(session: Session, clock: SimulatedClock) {
    this.#session = session
    this.#clock = clock
  }

  /** For those who watch the simulation, and its clients: no call fails, and none takes time. */
  get db(): Part {
    return databaseOf((work) => this.#inTurn(work))
  }

  /** As one control plane sees it. */
  of(life: Life, faults: Faults): Part & Pick<Session, "uri"> {
    const manner = { of: "database", ms: [0, 4], failing: 1, hanging: 0.1 } as const
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

  /** For columns whose default is the time. */
  async #setTime(db: Asked, now: number): Promise<void> {
    if (now === this.#setTo) return
    await db.run(sql`select set_config('superstep.simulated_time', ${timeOf(now)}, false)`)
    this.#setTo = now
  }

  /** Notifications are seen as they are sent, since nothing listens at the server. */
  async #withNotes<T>(work: (db: Part) => Promise<T>): Promise<T> {
    const notes: string[] = []
    const noting = (db: Asked): Db => {
      const noted = async (statement: Statement): Promise<Statement> => {
        const { text, values } = statement.render()
        const now = Math.round(this.#clock.now())
        if (text.includes("insert into")) await this.#setTime(db, now)
        if (text.includes("pg_notify(") && values[0] === pipelineChannel) notes.push(String(values[1] ?? "routes"))
        return { render: () => withTime(text, values, now) }
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
