/** Formats the JSON lines of our processes: time, level, message, fields; longer texts below, unchanged. */
import type { Output } from "./output.js"

type Fields = Readonly<Record<string, unknown>>

// Shown elsewhere in the line, or useless for a reader.
const hidden = new Set(["level", "time", "msg", "pid", "hostname", "process", "err"])

/** @returns  one or more lines without the last line end; text that is no line of our log is returned unchanged */
export function formatLogLine(line: string, style: Output["style"]): string {
  const fields = parse(line)
  if (!fields) return line
  if (!("level" in fields)) return `${fields.msg}${style("dim", `  run_id=${fields.run_id}`)}`
  const shown = Object.entries(fields).filter(([name, value]) => !hidden.has(name) && value !== undefined)
  const short = shown.filter(([, value]) => !isBlock(value))
  const blocks = [...shown.map(([, value]) => value).filter(isBlock), ...stackOf(fields.err, fields.level)]
  // A traceback is printed as a message of several lines.
  const [message = "", ...further] = String(fields.msg ?? "").split("\n")
  const head = [
    style("dim", timeOf(fields.time)),
    levelOf(String(fields.level), style),
    message,
    ...short.map(([name, value]) => style("dim", `${name}=${plain(value)}`)),
    ...reasonOf(fields.err, style),
  ]
  return [head.join("  "), ...[further.join("\n"), ...blocks].filter(Boolean).map(indent)].join("\n")
}

function parse(line: string): Fields | undefined {
  if (!line.startsWith("{")) return undefined
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value !== "object" || value === null || !("msg" in value)) return undefined
    // A graph's own output has its run and no level.
    return "level" in value || isPrinted(value) ? { ...value } : undefined
  } catch {
    // A user's own output may start with a brace.
    return undefined
  }
}

const isPrinted = (value: object): boolean => Object.keys(value).join() === "msg,run_id,thread_id"

const isBlock = (value: unknown): value is string => typeof value === "string" && value.includes("\n")

const plain = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

function timeOf(time: unknown): string {
  const date = new Date(typeof time === "string" || typeof time === "number" ? time : Number.NaN)
  if (Number.isNaN(date.getTime())) return "--:--:--"
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":")
}

function levelOf(level: string, style: Output["style"]): string {
  const padded = level.padEnd(5)
  if (level === "error" || level === "fatal") return style("red", padded)
  return level === "warn" ? style("yellow", padded) : style("dim", padded)
}

const messageOf = (err: unknown): string | undefined =>
  typeof err === "object" && err !== null && "message" in err ? String(err.message) : undefined

function reasonOf(err: unknown, style: Output["style"]): string[] {
  const message = messageOf(err)?.split("\n")[0]
  return message ? [style("red", message)] : []
}

/** A stack helps with a bug; a warning's message is enough. */
function stackOf(err: unknown, level: unknown): string[] {
  if (typeof err !== "object" || err === null || !("stack" in err) || level !== "error") return []
  const frames = String(err.stack)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
  return frames.length > 0 ? [frames.join("\n")] : []
}

const indent = (block: string): string => block.trimEnd().replaceAll(/^/gm, "    ")

/** Splits chunks of a stream into lines. `end` passes on what came after the last line end. */
export function lineReader(onLine: (line: string) => void): { push(chunk: string): void; end(): void } {
  let rest = ""
  return {
    push: (chunk) => {
      const lines = (rest + chunk).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) onLine(line)
    },
    end: () => {
      if (rest !== "") onLine(rest)
      rest = ""
    },
  }
}
