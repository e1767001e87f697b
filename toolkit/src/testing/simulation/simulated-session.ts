/**
 * The one session in which a simulation runs its statements. They are real statements of a real Postgres; what is saved is around them, since a
 * history asks some thousand times: no pool and no timers, one trip for `begin` and the statement after it, and the columns of a
 * statement's reply are asked for once (`Describe`), not with each execution.
 */

import pg from "pg"
import { type Sql, statementName } from "../../db/sql.js"
import { asUnavailable } from "../../db/unavailable.js"

/** A statement, or its text and values. */
export type Statement = Pick<Sql, "render">

/** What a `Db` is, also for statements that were rendered. */
export interface Asked {
  rows<Row extends object>(statement: Statement): Promise<Row[]>
  row<Row extends object>(statement: Statement): Promise<Row | undefined>
  run(statement: Statement): Promise<number>
}

export interface Session extends Asked, AsyncDisposable {
  readonly uri: string
  transaction<T>(work: (tx: Asked) => Promise<T>): Promise<T>
}

// As `openDatabase` reads them.
const parsers: Record<number, (text: string) => unknown> = { 20: Number, 114: (text) => text, 3802: JSON.parse }
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) => parsers[oid] ?? pg.types.getTypeParser(oid, "text"),
}

/** Opens a session. @param uri  of a database */
export async function openSession(uri: string): Promise<Session> {
  const client = new pg.Client({ connectionString: uri, types, pipeline: true } as pg.ClientConfig)
  await client.connect()
  const described = new Map<string, pg.FieldDef[]>()

  const ask = (statement: Statement): Promise<pg.QueryResult> =>
    new Promise((resolve, reject) => {
      const { text, values } = statement.render()
      const name = statementName(text)
      const answer: Answer = (error, result) => {
        if (error) return reject(asUnavailable(error))
        // A statement without columns says nothing about them.
        if (!described.has(name)) described.set(name, [])
        resolve(result)
      }
      client.query(new DescribedOnce({ name, text, values }, described, answer))
    })
  const db: Asked = {
    rows: async <Row extends object>(statement: Statement) => (await ask(statement)).rows as Row[],
    row: async <Row extends object>(statement: Statement) => (await ask(statement)).rows[0] as Row | undefined,
    run: async (statement) => (await ask(statement)).rowCount ?? 0,
  }
  return {
    ...db,
    uri,
    transaction: async (work) => {
      // Is sent with the first statement.
      const begun = client.query("begin")
      try {
        const result = await work(db)
        await begun
        await client.query("commit")
        return result
      } catch (error) {
        await client.query("rollback")
        throw error
      }
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** What pg's `Query` has, and its types leave out. */
interface PgQuery {
  readonly name: string
  readonly _result: { addFields(fields: readonly pg.FieldDef[]): void }
  _accumulateRows: boolean
  submit(connection: pg.Connection): void
  handleRowDescription(message: { readonly fields: pg.FieldDef[] }): void
}
type Answer = (error: Error | null, result: pg.QueryResult) => void
const PgQuery = pg.Query as unknown as new (config: pg.QueryConfig, values: undefined, answer: Answer) => PgQuery

/** A statement whose columns are known from its first execution. */
class DescribedOnce extends PgQuery {
  readonly #described: Map<string, pg.FieldDef[]>

  constructor(config: pg.QueryConfig, described: Map<string, pg.FieldDef[]>, answer: Answer) {
    super(config, undefined, answer)
    this.#described = described
  }

  override submit(connection: pg.Connection): void {
    const fields = this.#described.get(this.name)
    if (fields) {
      this._result.addFields(fields)
      this._accumulateRows = true
    }
    super.submit(fields ? withoutDescribe(connection) : connection)
  }

  override handleRowDescription(message: { readonly fields: pg.FieldDef[] }): void {
    this.#described.set(this.name, message.fields)
    super.handleRowDescription(message)
  }
}

const withoutDescribe = (connection: pg.Connection): pg.Connection =>
  Object.create(connection, { describe: { value: () => undefined } }) as pg.Connection
