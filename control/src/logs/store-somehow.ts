/** Stores a piece of a log whatever is in it (G6). */
import { isRefusedValue } from "@superstep/toolkit/db/unavailable"
import type { Log } from "@superstep/toolkit/log/log"
import type { NewLogLine } from "./log-line.js"

/**
 * Lines that fail every time must not block those behind them: each form of them is tried, and when the last one fails too, a line says
 * how many were left out. A fault of the database is thrown.
 * @param forms  of the same lines, the plainest last
 */
export async function storeSomehow<T>(
  store: (lines: readonly NewLogLine[]) => Promise<T>,
  forms: readonly (() => readonly NewLogLine[])[],
  log: Log,
): Promise<T> {
  let count = 0
  for (const form of forms) {
    try {
      const lines = form()
      count = lines.length
      return await store(lines)
    } catch (err) {
      if (!isFaultOfLines(err)) throw err
      log.error(
        { err, lines: count },
        "lines of a log cannot be stored as they are: they become plain text, or are left out",
      )
    }
  }
  return store([{ message: `[${count} lines were left out: they cannot be stored]`, level: "WARNING" }])
}

// Anything else is the database's or its connection's, or one that may pass.
const isFaultOfLines = (error: unknown): boolean =>
  isRefusedValue(error) || error instanceof RangeError || error instanceof TypeError
