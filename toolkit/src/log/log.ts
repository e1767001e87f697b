/** One JSON line a fact: a constant phrase plus fields. */
import { type DestinationStream, type Logger, pino } from "pino"

export type Log = Logger

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent"

// What waits while the disk is full; beyond it lines are lost, and the process goes on.
const mostWaitingBytes = 1_000_000

/** A full disk costs lines, never the process: without a listener the stream's error would end it. */
function standardOutput(): DestinationStream {
  const stream = pino.destination({ fd: 1, sync: true, maxLength: mostWaitingBytes })
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // The last: pino's own listener, which sees to a closed pipe, is gone after the first error of another kind.
    if (!["ENOSPC", "EDQUOT", "EPIPE"].includes(error.code ?? "")) throw error
  })
  return stream
}

/**
 * @param process      which of our processes speaks: `control`, `edge`, `server`, `worker`
 * @param destination  where lines go; standard output unless told
 */
export function createLog(
  { process, level }: { process: string; level: LogLevel },
  destination: DestinationStream = standardOutput(),
): Log {
  return pino(
    {
      level,
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
}
