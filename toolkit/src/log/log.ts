/** One JSON line a fact: a constant phrase plus fields. */
import { type DestinationStream, type Logger, pino } from "pino"

export type Log = Logger

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent"

/**
 * @param process      which of our processes speaks: `control`, `edge`, `server`, `worker`
 * @param destination  where lines go; standard output unless told
 */
export function createLog(
  { process, level }: { process: string; level: LogLevel },
  destination: DestinationStream = pino.destination({ fd: 1, sync: true }),
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
