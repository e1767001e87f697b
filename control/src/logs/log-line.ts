/**
 * The format of a stored entry of a log. A stack trace is one entry with line ends; what shows an entry keeps its further lines apart from
 * other entries. Pure.
 */

export const logLevels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const
export type LogLevel = (typeof logLevels)[number]

export const logStreams = ["build", "deploy"] as const
export type LogStream = (typeof logStreams)[number]

export interface NewLogLine {
  readonly message: string
  /** Default INFO. */
  readonly level?: LogLevel
  /** When it was printed; default now, and never later. */
  readonly at?: Date
  /** A UUID, when the line says which run it belongs to. */
  readonly runId?: string
  /** A UUID, when the line says the thread of its run. */
  readonly threadId?: string
  /** Superstep wrote it, not the code of the deployment; default false. */
  readonly isPlatform?: boolean
}
