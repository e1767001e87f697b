/**
 * Log lines as an `ExportLogsServiceRequest` in OTLP's JSON encoding: names in lowerCamelCase, 64-bit numbers as text, ids of
 * traces in hex. Pure.
 * @see  opentelemetry-proto, `collector/logs/v1/logs_service.proto` and `logs/v1/logs.proto`; OTLP, "JSON Protobuf Encoding"
 */
import type { LogLevel } from "../logs/log-line.js"
import { type ForwardedLine, traceOf } from "./line.js"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: number }
}

// The first number of each range of `SeverityNumber`.
const severityNumbers: Readonly<Record<LogLevel, number>> = { DEBUG: 5, INFO: 9, WARNING: 13, ERROR: 17, CRITICAL: 21 }

/** One resource for each revision, in the order in which their lines come. */
export function otlpBody(lines: readonly ForwardedLine[]): { readonly resourceLogs: readonly object[] } {
  const byRevision = new Map<string, ForwardedLine[]>()
  for (const line of lines) {
    const same = byRevision.get(line.revision_id)
    if (same) same.push(line)
    else byRevision.set(line.revision_id, [line])
  }
  return { resourceLogs: [...byRevision.values()].map(resourceLogs) }
}

function resourceLogs(lines: readonly ForwardedLine[]): object {
  const [first] = lines
  return {
    resource: { attributes: first ? resourceAttributes(first) : [], droppedAttributesCount: 0 },
    scopeLogs: [{ scope: { name: "superstep" }, logRecords: lines.map(logRecord) }],
  }
}

const text = (key: string, stringValue: string): Attribute => ({ key, value: { stringValue } })

const resourceAttributes = (line: ForwardedLine): Attribute[] => [
  text("service.name", line.deployment_name),
  text("service.version", line.revision_id),
  text("superstep.workspace.id", line.workspace_id),
  text("superstep.deployment.id", line.deployment_id),
  text("superstep.deployment.name", line.deployment_name),
  text("superstep.revision.id", line.revision_id),
  { key: "superstep.revision.number", value: { intValue: line.revision_number } },
]

function logRecord(line: ForwardedLine): object {
  const attributes = [
    text("log.record.uid", String(line.log_line_id)),
    text("superstep.log.stream", line.stream),
    ...(line.run_id === null ? [] : [text("superstep.run.id", line.run_id)]),
  ]
  return {
    timeUnixNano: line.time_ns,
    observedTimeUnixNano: line.time_ns,
    severityNumber: severityNumbers[line.level],
    severityText: line.level,
    body: { stringValue: line.message },
    attributes,
    droppedAttributesCount: 0,
    ...traceOf(line.message),
  }
}

/**
 * How many records of an accepted request the collector rejected itself; they must not be sent again (OTLP, "Partial Success").
 * @param reply  the start of the response's body
 */
export function rejectedRecords(reply: string): { readonly count: number; readonly message: string } {
  try {
    const { partialSuccess } = JSON.parse(reply) as { partialSuccess?: Record<string, unknown> | null }
    const count = Number(partialSuccess?.rejectedLogRecords ?? 0)
    const message = String(partialSuccess?.errorMessage ?? "")
    return { count: Number.isSafeInteger(count) && count > 0 ? count : 0, message }
  } catch {
    // An empty body, or one in another format, reports no rejection.
    return { count: 0, message: "" }
  }
}
