/**
 * Parses a printed line: JSON of loggers (pino, winston, structlog), else plain text. Code of a deployment may claim anything
 * about its own line, and nothing about another one. Pure.
 */
import type { LogLevel, NewLogLine } from "./log-line.js"

const levelWords: ReadonlyMap<string, LogLevel> = new Map([
  ["trace", "DEBUG"],
  ["debug", "DEBUG"],
  ["verbose", "DEBUG"],
  ["info", "INFO"],
  ["notice", "INFO"],
  ["warn", "WARNING"],
  ["warning", "WARNING"],
  ["error", "ERROR"],
  ["err", "ERROR"],
  ["fatal", "CRITICAL"],
  ["critical", "CRITICAL"],
  ["panic", "CRITICAL"],
])

// The names that our own processes of a unit give themselves (`createLog`). Lines that they pass on have none.
const platformProcesses: ReadonlySet<unknown> = new Set(["server", "companion"])

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** @returns  what the line says of itself; as plain text when it is no JSON, has no message, or is nested too deeply to be printed again */
export function parseLine(line: string): NewLogLine {
  if (!line.startsWith("{")) return plainLine(line)
  try {
    return structuredLine(JSON.parse(line)) ?? plainLine(line)
  } catch {
    return plainLine(line)
  }
}

function structuredLine(entry: Record<string, unknown>): NewLogLine | undefined {
  const text = entry.msg ?? entry.message ?? entry.event
  if (typeof text !== "string") return undefined
  const { level, severity, time, timestamp, ts, msg, message, event, run_id: runId, process, ...allFields } = entry
  // One of the three names for the message was used; the others are fields like any other.
  const others = msg !== undefined ? { message, event } : message !== undefined ? { event } : {}
  const isRun = typeof runId === "string" && uuid.test(runId)
  const threadId = allFields.thread_id
  const { fields, stacks } = withoutStacks(allFields)
  const rest = JSON.stringify({ ...(isRun ? {} : { run_id: runId }), ...fields, ...others })
  // What a graph prints comes with its run and nothing but the thread of that.
  const isText = rest === "{}" || (isRun && rest === JSON.stringify({ thread_id: fields.thread_id }))
  const at = timeOf(time ?? timestamp ?? ts)
  // What a graph prints has no level.
  const known = levelOf(level ?? severity) ?? levelOfText(text)
  return {
    message: [isText ? text : `${text} ${rest}`, ...stacks].join("\n"),
    ...(known && { level: known }),
    ...(at && { at }),
    ...(isRun && { runId }),
    ...(isRun && typeof threadId === "string" && uuid.test(threadId) && { threadId }),
    ...(platformProcesses.has(process) && { isPlatform: true }),
  }
}

/** Stack traces, which are shown as lines below the message: of an error, as pino and our own log write one, and the field `stack`. */
function withoutStacks({ stack, err, ...fields }: Record<string, unknown>): {
  readonly fields: Record<string, unknown>
  readonly stacks: readonly string[]
} {
  const stacks = typeof stack === "string" ? [stack] : []
  if (typeof stack !== "string" && stack !== undefined) fields.stack = stack
  if (typeof err !== "object" || err === null || !("stack" in err) || typeof err.stack !== "string")
    return { fields: { ...fields, err }, stacks }
  const { stack: own, ...others } = err
  return { fields: { ...fields, err: others }, stacks: [...stacks, own as string] }
}

/** A word, or a number of pino and bunyan (10 trace … 60 fatal). */
function levelOf(level: unknown): LogLevel | undefined {
  if (typeof level === "string") return levelWords.get(level.toLowerCase())
  if (typeof level !== "number") return undefined
  if (level >= 60) return "CRITICAL"
  if (level >= 50) return "ERROR"
  if (level >= 40) return "WARNING"
  return level >= 30 ? "INFO" : "DEBUG"
}

// The longest form that JavaScript prints has about 60 characters.
const longestTime = 100

/** ISO text, or seconds or milliseconds since 1970. An implausible time counts as none. */
function timeOf(time: unknown): Date | undefined {
  if (typeof time !== "string" && typeof time !== "number") return undefined
  if (typeof time === "string" && time.length > longestTime) return undefined
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

// The level and the name of an error are at the start, and the expressions take a time that grows with the square of a text.
const examinedLength = 200

/** A line as it was printed. @throws never: it serves when anything else fails */
export function plainLine(line: string): NewLogLine {
  const level = levelOfText(line)
  return { message: line, ...(level && { level }) }
}

function levelOfText(text: string): LogLevel | undefined {
  const start = text.slice(0, examinedLength)
  const word = levelAtStart.exec(start)?.[1]?.toLowerCase()
  if (word !== undefined) return levelWords.get(word)
  return errorAtStart.test(start) ? "ERROR" : undefined
}
