/** A Postgres pool behind four verbs. Everything else about the database is in each package's `queries.ts`. */
import pg from "pg"
import { must } from "../errors/must.js"
import type { Log } from "../log/log.js"
import { listenOn, type Subscription } from "./listen.js"
import { type Sql, statementName } from "./sql.js"
import { asUnavailable, DatabaseUnavailable, isLostConnection } from "./unavailable.js"

/**
 * Runs statements: the pool, or one transaction of it. Each method throws `DatabaseUnavailable` when there is no
 * connection, and Postgres' own error for anything else.
 */
export interface Db {
  /** All rows of a statement. */
  rows<Row extends object>(statement: Sql): Promise<Row[]>
  /** The first row, or undefined. */
  row<Row extends object>(statement: Sql): Promise<Row | undefined>
  /** Runs a statement for its effect. @returns  the number of affected rows */
  run(statement: Sql): Promise<number>
}

export interface PoolUse {
  readonly open: number
  /** Number of open connections that are idle. */
  readonly idle: number
  /** Number of statements that wait for a connection. */
  readonly waiting: number
}

export interface Database extends Db, AsyncDisposable {
  /** Runs `work` in one transaction on one connection; an error rolls it back and is rethrown. */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  /**
   * Calls `onNotify` for each `notify` on the channel, on one connection shared by all channels. After a lost
   * connection it connects again and calls `onReconnect`, since notifications in between are gone.
   */
  listen(channel: string, onNotify: (payload: string) => void, onReconnect?: () => void): Promise<Subscription>
  /**
   * Locks a name in this database, on the listening connection: until `close`, or until the process ends.
   * @returns  false when another process holds it
   */
  hold(name: string): Promise<boolean>
  /** The present use of the pool, without the listening connection. */
  pool(): PoolUse
  /** The connection string, for the few places that need a second pool. */
  readonly uri: string
  /** Waits for statements under way and closes all connections. May be called again. */
  close(): Promise<void>
}

// json (114) keeps its text: state, input and metadata belong to users and pass through unparsed (architecture D9b).
// jsonb (3802) is ours and is parsed. int8 (20) counts rows and sequences, far below 2^53.
const parsers: Record<number, (text: string) => unknown> = { 20: Number, 114: (text) => text, 3802: JSON.parse }
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    format === "binary" ? pg.types.getTypeParser(oid, "binary") : (parsers[oid] ?? pg.types.getTypeParser(oid, "text")),
} as pg.CustomTypesConfig

const runOn = async (target: pg.Pool | pg.ClientBase, statement: Sql): Promise<pg.QueryResult> => {
  const { text, values } = statement.render()
  return reached(target.query({ name: statementName(text), text, values }))
}

const reached = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw asUnavailable(error)
  })

const dbOn = (target: pg.Pool | pg.ClientBase): Db => ({
  rows: async <Row extends object>(statement: Sql) => (await runOn(target, statement)).rows as Row[],
  row: async <Row extends object>(statement: Sql) => (await runOn(target, statement)).rows[0] as Row | undefined,
  run: async (statement) => (await runOn(target, statement)).rowCount ?? 0,
})

export interface DatabaseOptions {
  /** `postgres://…`, or with `?host=/folder` for a Unix socket. */
  readonly uri: string
  /** Most connections at a time, without the listening one. */
  readonly poolSize?: number
  /** How long a statement waits for a connection, in milliseconds. */
  readonly connectMs?: number
  /**
   * How long a statement may take, in milliseconds; then its connection is closed, and it fails as `DatabaseUnavailable`. Default:
   * a little longer than `cancelAfterMs`; without that, two minutes.
   */
  readonly statementMs?: number
  /** Postgres itself stops a statement that takes longer, in milliseconds; it fails as `StatementTooSlow`. 0: no limit at all. */
  readonly cancelAfterMs?: number | undefined
  /** Called with each new session before its first use; if it throws, the statement that wanted the session fails with that error. */
  readonly onSession?: (session: Db) => Promise<void>
  readonly log: Log
}

// Detects a host that vanished before the callers have left. A healthy one connects in a few milliseconds, and a longer wait
// for the pool is an overload that should be reported.
const usualConnectMs = 10_000

// A host that vanishes while it owes an answer resets nothing: TCP repeats what was not acknowledged for a quarter of an hour, and
// keepalive begins only afterwards. So every pool gives up by itself.
const usualStatementMs = 120_000
// From Postgres' own limit to ours: its error has to arrive.
const answerMs = 5_000

const limitOf = ({ statementMs, cancelAfterMs }: Pick<DatabaseOptions, "statementMs" | "cancelAfterMs">): number => {
  if (statementMs !== undefined) return statementMs
  if (cancelAfterMs === undefined) return usualStatementMs
  return cancelAfterMs === 0 ? 0 : cancelAfterMs + answerMs
}

/**
 * Statements find their rows by a key. Postgres would rather read a table from end to end when that seems small, and a table whose rows come
 * and go seems small to it although its deleted rows fill a thousand pages. Without `jit = off` a Postgres before 18 would compile each
 * statement that has no key to use.
 */
const byKey = "set enable_seqscan = off; set jit = off"

/**
 * DB1: the next statement on a connection inside a transaction would succeed and never be committed. So the connection is closed,
 * and Postgres rolls back. The pool calls this before it looks whether the connection is of use.
 * @param failure  with one the pool closes the connection anyway
 */
function closeInTransaction(failure: Error | undefined, client: pg.PoolClient): void {
  if (failure) return
  const status = client.getTransactionStatus()
  try {
    must(status === "I", "DB1", "a connection returns to the pool outside of a transaction", { status })
  } catch {
    // It is logged and counted. Whoever returns the connection has its result.
    void client.end()
  }
}

/** Opens a pool. Nothing connects before the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const { uri, poolSize = 10, connectMs = usualConnectMs, statementMs, cancelAfterMs, onSession, log } = options
  const pool = new pg.Pool({
    connectionString: uri,
    max: poolSize,
    types,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: connectMs,
    // The connection of a statement that took too long is closed, and the next statement gets a new one.
    query_timeout: limitOf(options),
    // Not as startup parameters: PgBouncer refuses every unknown one.
    onConnect: async (client) => {
      const limit = cancelAfterMs ? `; set statement_timeout = ${cancelAfterMs}` : ""
      await client.query(`${byKey}${limit}`)
      await onSession?.(dbOn(client))
    },
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  // Without a listener of its own, a connection that is lost in the middle of a transaction would end the process. The pool
  // reports lost idle connections a second time.
  pool.on("connect", (client) => client.on("error", (err) => log.warn({ err }, "a database connection was lost")))
  pool.on("error", () => undefined)
  pool.on("release", closeInTransaction)
  const listener = listenOn(uri, log, statementMs === undefined ? {} : { answerMs: statementMs })

  const transaction = async <T>(work: (tx: Db) => Promise<T>): Promise<T> => {
    const client = await reached(pool.connect())
    let broken: Error | undefined
    try {
      await reached(client.query("begin"))
      const result = await work(dbOn(client))
      await reached(client.query("commit"))
      return result
    } catch (error) {
      // On a connection that is gone, or silent, a rollback would wait behind the statement that nobody answers. The connection is
      // closed, and Postgres rolls back.
      if (isLostConnection(error)) broken = error
      else
        await client.query("rollback").catch((failure: Error) => {
          broken = failure
        })
      throw error
    } finally {
      client.release(broken)
    }
  }

  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= listener.close().then(() => pool.end())
    return closed
  }
  return {
    ...dbOn(pool),
    uri,
    pool: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    transaction,
    listen: listener.listen,
    hold: listener.hold,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The Postgres error codes that we handle (appendix A of its manual). */
export const sqlState = {
  uniqueViolation: "23505",
  foreignKeyViolation: "23503",
  undefinedTable: "42P01",
  undefinedObject: "42704",
  duplicateObject: "42710",
  duplicateDatabase: "42P04",
  insufficientPrivilege: "42501",
} as const

/** Returns whether an error has this SQLSTATE, and optionally this constraint. */
export function isSqlState(error: unknown, state: string, constraint?: string): boolean {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error
  if (!(cause instanceof pg.DatabaseError)) return false
  return cause.code === state && (constraint === undefined || cause.constraint === constraint)
}
