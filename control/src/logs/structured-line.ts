/**
 * Parses a printed line: JSON of loggers (pino, winston, structlog), else plain text. Code of a deployment may claim anything
 * about its own line, and nothing about another one. Pure.
 */
import type { LogLevel, NewLogLine } from "./log-line.js"

const levelWords: Readonly<Record<string, LogLevel>> = {
  trace: "DEBUG",
  debug: "DEBUG",
  verbose: "DEBUG",
  info: "INFO",
  notice: "INFO",
  warn: "WARNING",
  warning: "WARNING",
  error: "ERROR",
  err: "ERROR",
  fatal: "CRITICAL",
  critical: "CRITICAL",
  panic: "CRITICAL",
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function parseLine(line: string): NewLogLine {
  const entry = entryOf(line)
  const text = entry?.msg ?? entry?.message ?? entry?.event
  if (entry === undefined || typeof text !== "string") return plainLine(line)
  const { level, severity, time, timestamp, ts, msg, message, event, run_id: runId, process: _, ...fields } = entry
  // One of the three names for the message was used; the others are fields like any other.
  const others = msg !== undefined ? { message, event } : message !== undefined ? { event } : {}
  const isRun = typeof runId === "string" && uuid.test(runId)
  const rest = JSON.stringify({ ...(isRun ? {} : { run_id: runId }), ...fields, ...others })
  const at = timeOf(time ?? timestamp ?? ts)
  const known = levelOf(level ?? severity)
  return {
    message: rest === "{}" ? text : `${text} ${rest}`,
    ...(known && { level: known }),
    ...(at && { at }),
    ...(isRun && { runId }),
  }
}

function entryOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // It only looked like JSON: user code may print anything.
    return undefined
  }
}

/** A word, or a number of pino and bunyan (10 trace … 60 fatal). */
function levelOf(level: unknown): LogLevel | undefined {
  if (typeof level === "string") return levelWords[level.toLowerCase()]
  if (typeof level !== "number") return undefined
  if (level >= 60) return "CRITICAL"
  if (level >= 50) return "ERROR"
  if (level >= 40) return "WARNING"
  return level >= 30 ? "INFO" : "DEBUG"
}

/** ISO text, or seconds or milliseconds since 1970. An implausible time counts as none. */
function timeOf(time: unknown): Date | undefined {
  if (typeof time !== "string" && typeof time !== "number") return undefined
  // As seconds this is the year 5138, as milliseconds 1973.
  const isSeconds = typeof time === "number" && time < 1e11
  const at = new Date(isSeconds ? time * 1000 : time)
  const year = at.getUTCFullYear()
  return year >= 2000 && year <= 9999 ? at : undefined
}

// A level at the start, after brackets or a time at most; or the way JavaScript and Python print an error.
const levelAtStart =
  /^[[(]?(?:\d[\d\-:.,TZ/ ]*[\])]?\s*)?[[(]?(debug|info|notice|warn|warning|error|fatal|critical)\b[\])]?\s*[:\-\s]/i
const errorAtStart =
  /^(?:Uncaught |Unhandled |\w*\.)*\w*(?:Error|Exception)\b(?: \[\w+\])?:|^Traceback \(most recent call last\)/

function plainLine(line: string): NewLogLine {
  const word = levelAtStart.exec(line)?.[1]?.toLowerCase()
  const level = word === undefined ? (errorAtStart.test(line) ? "ERROR" : undefined) : levelWords[word]
  return { message: line, ...(level && { level }) }
}
