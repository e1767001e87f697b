/** Judges histories of threads, one by one. Pure. */
import type { Call, Operation } from "./call.js"
import { withEvidence, withHindsight } from "./evidence.js"
import { explain, type Words } from "./picture.js"
import { judgeReads } from "./reads.js"
import { search } from "./search.js"
import { describeThread, type Thread, threadObject } from "./thread.js"

export interface Judgement {
  readonly threads: number
  readonly calls: number
  readonly unknown: number
  /** Threads for which the budget did not suffice. */
  readonly undecided: readonly string[]
  /** What no order explains, or what breaks a rule for reads: a text with a picture each. */
  readonly faults: readonly string[]
}

// About a second, and some hundred megabytes at most.
const usualStates = 200_000

export function judgeHistory(history: readonly Call[], mostStates = usualStates): Judgement {
  const threads = new Map<string, Call[]>()
  for (const call of history) threads.set(call.thread, [...(threads.get(call.thread) ?? []), call])
  const faults: string[] = []
  const undecided: string[] = []
  for (const [thread, calls] of threads) {
    faults.push(...judgeReads(calls).map((fault) => `${thread}: ${fault}`))
    const known = withEvidence(calls.filter(tellsOrChanges))
    const finding = search(withHindsight(threadObject(known), known), known, mostStates)
    if (finding.is === "undecided") undecided.push(thread)
    // What is known only later makes the prefix shorter and the search much quicker, but harder to follow.
    const objects = [threadObject(known), withHindsight(threadObject(known), known)]
    if (finding.is === "impossible") faults.push(explain(thread, objects, known, { mostStates, ...words }))
  }
  const unknown = history.filter(({ outcome }) => outcome.is === "unknown").length
  return { threads: threads.size, calls: history.length, unknown, undecided, faults }
}

const reads = new Set<Operation["op"]>(["state", "copy", "status", "run", "result", "over", "prune"])

/** A read whose reply was lost says nothing, and one of something else nothing of the thread. */
const tellsOrChanges = ({ what, outcome }: Call): boolean =>
  what.op !== "kept" && (outcome.is !== "unknown" || !reads.has(what.op))

function describe({ what }: Call): string {
  const { op, ...fields } = what
  const words = Object.values({
    ...fields,
    ...("task" in what && { task: `${what.task.steps} steps${what.task.asks ? ", asks" : ""}` }),
  })
  return [op, ...words].join(" ")
}

function describeOutcome({ outcome }: Call): string {
  if (outcome.is === "refused") return ["refused", outcome.status, outcome.why].filter(Boolean).join(" ")
  if (outcome.is === "unknown") return "unknown"
  const { log, status, question, isInputSaved } = outcome.value ?? {}
  const parts = [
    ...(log ? [`[${log.join(" ")}]`] : []),
    ...(status ? [status] : []),
    ...(question ? [`asks ${question}`] : []),
    ...(isInputSaved === false ? ["input not saved"] : []),
  ]
  return parts.length > 0 ? parts.join(", ") : "ok"
}

const words: Words<Thread, Call> = { describe, describeOutcome, describeState: describeThread }
