/** The message of a revision that failed: what happened, and what to do next. Pure. */
import { edgeCodes } from "@superstep/edge/error-codes"
import { toolkitCodes } from "@superstep/toolkit/errors/error-codes"
import { revisionCodes } from "./error-codes.js"
import type { ErrorCode } from "./revision.js"

const entries = { ...revisionCodes, capacity: edgeCodes.capacity, internal: toolkitCodes.internal }

/** What the reader should do next, in a line. */
export const hintFor = (code: ErrorCode): string => entries[code].next

const shownLines = 5
/** How many lines of the log `statusMessage` takes: those shown, and those before them to which they may belong. */
export const readLines = 12

// Lines of ours about how long a step took, which come after what the step said.
const isDuration = (line: string): boolean => /^\w+ took \d+ ms$/.test(line)
/** A line of a source excerpt: ` 2 | import …`, or `   |    ^` below the line that it points to; esbuild draws `2 │` and `╵`. */
const isExcerpt = (line: string): boolean => /^[\s>\d]{0,40}[|│╵]/.test(line)
/** Nothing but marks, as Python and TypeScript print them: they belong to the line above. */
const isMark = (line: string): boolean => /^\s*[\^~][\s^~]*$/.test(line)

/** The end of a log, and the whole of a source excerpt that it starts in. */
function endOf(lastLines: readonly string[]): readonly string[] {
  const all = lastLines.flatMap((line) => line.split("\n"))
  const lines = all.slice(-readLines).filter((line) => line.trim() !== "" && !isDuration(line))
  let start = Math.max(0, lines.length - shownLines)
  while (start > 0 && (isExcerpt(lines[start] ?? "") || isMark(lines[start] ?? ""))) start--
  return lines.slice(start)
}

/** The revision's status message: the fault, what to do, and the end of the log. @param lastLines  `readLines` of them */
export function statusMessage(code: ErrorCode, message: string, lastLines: readonly string[]): string {
  const end = endOf(lastLines)
  // A message repeats what a tool says; the lines of code that it says it about are kept whole.
  const isCode = (at: number) => isExcerpt(end[at] ?? "") || isMark(end[at] ?? "") || isMark(end[at + 1] ?? "")
  const tail = end.filter((line, at) => isCode(at) || !message.includes(line))
  const log = tail.length === 0 ? "" : `\n${tail.map((line) => `  ${line}`).join("\n")}`
  return `${message.replace(/\.$/, "")}. ${hintFor(code)}${log}`
}
