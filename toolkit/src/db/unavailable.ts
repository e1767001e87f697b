/** Tells a database that cannot be reached from a statement that failed. Pure. */
import pg from "pg"
import { Unavailable } from "../errors/errors.js"

/**
 * No connection could be made, or the one in use was lost, or Postgres could not do it at this moment. What a lost one was
 * committing may or may not be written.
 */
export class DatabaseUnavailable extends Unavailable {}

// Not there, not listening, or gone in the middle; ENOENT is a Unix socket whose server has stopped.
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
// that takes no more sessions.
const states = /^(08\w{3}|57P0[123]|53300)$/

// pg gives these no code (pg/lib/client.js, pg-pool/index.js).
const words =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout e(xpired|xceeded))/

// A deadlock or a serialisation failure (class 40), resources that ran out (53), a lock that was not available (55P03).
const passing = /^(40\w{3}|53\w{3}|55P03)$/

// query_canceled, which also tells of a cancel that somebody asked for.
const statementTimeout = "57014"

/** Whether the same statement may succeed a little later: nothing is wrong with it. */
export const isPassing = (error: unknown): boolean => error instanceof Unavailable

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

// The reason is a code or a constant of the library: an address would be for the log only.
const unavailable = (reason: string | undefined, cause: Error): DatabaseUnavailable =>
  new DatabaseUnavailable(`the database cannot be reached (${reason}): try again in a moment`, 1000, { cause })

const busy = (cause: pg.DatabaseError): DatabaseUnavailable =>
  new DatabaseUnavailable(
    `${full[cause.code ?? ""] ?? "the database is busy with other changes"} (${cause.code}): try again in a moment`,
    1000,
    {
      cause,
    },
  )

const tooSlow = (cause: pg.DatabaseError): DatabaseUnavailable =>
  new DatabaseUnavailable("the database took too long, and the request was given up: ask for less at a time", 1000, {
    cause,
  })

/** What passes only when somebody does something about it. */
const full: Readonly<Record<string, string>> = {
  "53100": "the disk of the database is full",
  "53200": "the database has no memory left",
}
