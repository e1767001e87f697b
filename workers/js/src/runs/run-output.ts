/**
 * What user code prints, as entries of the log: with the run whose code printed it, and what is printed at once, such as an error with its
 * stack, as one entry. Output that belongs to no run stays as it is, and so does what code writes to the file descriptor itself.
 */
import { currentRun, type Run } from "./run.js"

// A text without a line end is printed when it is longer.
const mostPartial = 8 * 1024

/** By stream and run: text after its last line end. */
const partials = new Map<NodeJS.WriteStream, Map<Run, string>>()
const writes = new Map<NodeJS.WriteStream, (text: string) => boolean>()

/** From now on, `console.log` and everything else that writes to the two streams marks its lines. Call it before user code is imported. */
export function markOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const original = stream.write.bind(stream) as (...all: unknown[]) => boolean
    const own = new Map<Run, string>()
    partials.set(stream, own)
    writes.set(stream, original)
    stream.write = (chunk: unknown, ...more: unknown[]): boolean => {
      if (typeof chunk !== "string") return original(chunk, ...more)
      const run = currentRun.getStore()
      const marked = run === undefined || run.isOver ? withoutRun(chunk) : taken(own, run, chunk)
      return original(marked, ...more)
    }
  }
}

/** Prints what a run left without a line end. */
export function endOutput(run: Run): void {
  for (const [stream, own] of partials) {
    const text = own.get(run)
    own.delete(run)
    if (text !== undefined) writes.get(stream)?.(entryOf(run, text))
  }
}

/** Whole lines, as an entry; the rest waits for its line end. */
function taken(own: Map<Run, string>, run: Run, chunk: string): string {
  const text = (own.get(run) ?? "") + chunk
  own.delete(run)
  const end = text.length > mostPartial ? text.length : text.lastIndexOf("\n") + 1
  if (end < text.length) own.set(run, text.slice(end))
  return end === 0 ? "" : entryOf(run, text.slice(0, end))
}

const withoutLineEnds = (text: string): string => text.replace(/\n$/, "")

function entryOf(run: Run, text: string): string {
  const msg = withoutLineEnds(text)
  if (msg === "") return text
  const { run_id, thread_id } = run.logFields
  const fields = JSON.stringify({ run_id, thread_id })
  if (!isObject(msg)) return `${JSON.stringify({ msg, run_id, thread_id })}\n`
  // A logger's own fields take precedence: they come later.
  return msg.includes('"run_id"') ? `${msg}\n` : `${fields.slice(0, -1)},${msg.slice(1)}\n`
}

/** The stack of an error is one entry, also outside of every run. */
const withoutRun = (text: string): string =>
  text.includes("\n    at ") ? `${JSON.stringify({ level: "error", msg: withoutLineEnds(text) })}\n` : text

/** Whether a logger printed it, on one line. An object without fields is no message. */
function isObject(text: string): boolean {
  if (!text.startsWith("{") || text.includes("\n")) return false
  try {
    return Object.keys(JSON.parse(text) as object).length > 0
  } catch {
    return false
  }
}
