/** Distinguishes an unreachable database from a failed statement. Pure. */
import pg from "pg"
import { Unavailable } from "../errors/errors.js"

/**
 * Connecting failed, or the connection was lost, or Postgres could not do it at this moment. A transaction that was
 * committing on a lost connection may or may not be stored.
 */
export class DatabaseUnavailable extends Unavailable {}

/** Postgres stopped a statement at the time limit of its pool. A repeated one may take as long. */
export class StatementTooSlow extends DatabaseUnavailable {}

/** A statement did not get a lock within its `lock_timeout`: another transaction has it. */
export class LockTimeout extends DatabaseUnavailable {}

// Missing, not listening, or lost while in use; ENOENT is a Unix socket whose server has stopped.
const systemCodes = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
])

// Appendix A of Postgres' manual: class 08 is the connection, 57P01 to 57P03 a server that stops or starts, 53300 one
// that accepts no more sessions.
const states = /^(08\w{3}|57P0[123]|53300)$/

// pg sets no code on these (pg/lib/client.js, pg-pool/index.js).
const words =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout e(xpired|xceeded))/

// A deadlock or a serialisation failure (class 40), exhausted resources (53), an unavailable lock (55P03).
const passing = /^(40\w{3}|53\w{3}|55P03)$/

const lockNotAvailable = "55P03"

// query_canceled, which also reports a requested cancel.
const statementTimeout = "57014"

// data_exception, integrity_constraint_violation and program_limit_exceeded: the next try fails in the same way.
const refused = /^(22|23|54)\w{3}$/

/** Whether Postgres refuses a value: one that no column of this type can have, that breaks a rule of the schema, or is too large. */
export const isRefusedValue = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && refused.test(error.code ?? "")

/** Whether the same statement may succeed a little later: nothing is wrong with it. */
export const isPassing = (error: unknown): boolean => error instanceof Unavailable

/** Whether a statement failed without an answer of Postgres: its connection is gone, or silent. */
export const isLostConnection = (error: unknown): error is DatabaseUnavailable =>
  error instanceof DatabaseUnavailable && !(error.cause instanceof pg.DatabaseError)

/** The error to throw for one of pg's: `DatabaseUnavailable` with the cause, or the same error. */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code } = error as { code?: unknown }
  if (error instanceof pg.DatabaseError) {
    if (states.test(error.code ?? "")) return unavailable(error.code, error)
    if (error.code === statementTimeout && error.message.endsWith("due to statement timeout")) return tooSlow(error)
    return passing.test(error.code ?? "") ? busy(error) : error
  }
  if (typeof code === "string") return systemCodes.has(code) ? unavailable(code, error) : error
  return words.test(error.message) ? unavailable(error.message, error) : error
}

// The reason is a code or a constant of the library: an address belongs only in the log.
const unavailable = (reason: string | undefined, cause: Error): DatabaseUnavailable =>
  new DatabaseUnavailable(`the database cannot be reached (${reason}): try again in a moment`, 1000, { cause })

const busy = (cause: pg.DatabaseError): DatabaseUnavailable =>
  new (cause.code === lockNotAvailable ? LockTimeout : DatabaseUnavailable)(
    `${full[cause.code ?? ""] ?? "the database is busy with other changes"} (${cause.code}): try again in a moment`,
    1000,
    {
      cause,
    },
  )

const tooSlow = (cause: pg.DatabaseError): DatabaseUnavailable =>
  new StatementTooSlow(
    "the database took too long and the request was cancelled: ask for less at a time, for example with a smaller limit",
    1000,
    {
      cause,
    },
  )

/** Conditions that do not pass without action. */
const full: Readonly<Record<string, string>> = {
  "53100": "the database's disk is full",
  "53200": "the database is out of memory",
}
