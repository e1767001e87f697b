/** One JSON line per fact: a constant phrase plus fields. */
import { type DestinationStream, type Logger, pino } from "pino"

export type Log = Logger

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent"

// Lines that wait while the disk is full; beyond this lines are lost, and the process goes on.
const mostWaitingBytes = 1_000_000

/** A full disk loses lines, but never ends the process: without a listener the stream's error would end it. */
function standardOutput(): DestinationStream {
  const stream = pino.destination({ fd: 1, sync: true, maxLength: mostWaitingBytes })
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // EPIPE: pino's own listener, which handles a closed pipe, is gone after the first error of another kind.
    if (!["ENOSPC", "EDQUOT", "EPIPE"].includes(error.code ?? "")) throw error
  })
  return stream
}

/**
 * @param process      which of our processes logs: `control`, `edge`, `server`, `worker`
 * @param destination  where lines go; default standard output
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
