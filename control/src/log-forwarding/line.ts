/** A stored line on its way to a sink, and which lines go into one request. Pure. */
import type { LogLevel, LogStream } from "../logs/log-line.js"

export interface ForwardedLine {
  readonly log_line_id: number
  readonly workspace_id: string
  readonly deployment_id: string
  readonly deployment_name: string
  readonly revision_id: string
  readonly revision_number: number
  readonly stream: LogStream
  /** ISO with microseconds. */
  readonly time: string
  /** The same, as nanoseconds since 1970. */
  readonly time_ns: string
  readonly level: LogLevel
  readonly message: string
  readonly run_id: string | null
}

/** The lines of one request. */
export interface Batch {
  readonly lines: readonly ForwardedLine[]
  /** Deployments of which all lines that were read are in `lines`. */
  readonly complete: ReadonlySet<string>
}

/**
 * Takes the first lines, up to a number and a size.
 * @param lines      grouped by deployment, in the order of their ids; the first one is always taken
 * @param mostBytes  of the messages
 */
export function batchOf(
  lines: readonly ForwardedLine[],
  { mostLines, mostBytes }: { mostLines: number; mostBytes: number },
): Batch {
  let bytes = 0
  let count = 0
  for (const { message } of lines) {
    bytes += Buffer.byteLength(message)
    if (count > 0 && (count >= mostLines || bytes > mostBytes)) break
    count++
  }
  const left = new Set(lines.slice(count).map(({ deployment_id }) => deployment_id))
  const taken = lines.slice(0, count)
  return {
    lines: taken,
    complete: new Set(taken.map(({ deployment_id }) => deployment_id).filter((id) => !left.has(id))),
  }
}

/** The last line of each deployment: lines of a deployment are in the order of their ids. */
export const lastLines = (lines: readonly ForwardedLine[]): ReadonlyMap<string, number> =>
  new Map(lines.map(({ deployment_id, log_line_id }) => [deployment_id, log_line_id]))

export interface TraceIds {
  readonly traceId?: string
  readonly spanId?: string
}

/** The trace of a structured line: loggers with OpenTelemetry print `trace_id` and `span_id` (`structured-line.ts` keeps them). */
export function traceOf(message: string): TraceIds {
  const traceId = /"trace_id":"((?!0{32})[0-9a-f]{32})"/.exec(message)?.[1]
  const spanId = /"span_id":"((?!0{16})[0-9a-f]{16})"/.exec(message)?.[1]
  return { ...(traceId && { traceId }), ...(traceId && spanId && { spanId }) }
}
