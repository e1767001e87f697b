/** Judges histories, thread by thread, and says for people what is wrong with one. Pure. */
import type { Call, Operation } from "./call.js"
import { withEvidence, withHindsight } from "./evidence.js"
import { judgeReads } from "./reads.js"
import { search, shortestImpossible } from "./search.js"
import { describeThread, threadObject } from "./thread.js"

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
    if (finding.is === "impossible") faults.push(explain(thread, known, mostStates))
  }
  const unknown = history.filter(({ outcome }) => outcome.is === "unknown").length
  return { threads: threads.size, calls: history.length, unknown, undecided, faults }
}

const reads = new Set<Operation["op"]>(["state", "copy", "status", "run", "result", "over", "prune"])

/** A read whose reply was lost says nothing. */
const tellsOrChanges = ({ what, outcome }: Call): boolean => outcome.is !== "unknown" || !reads.has(what.op)

function explain(thread: string, history: readonly Call[], mostStates: number): string {
  const object = threadObject(history)
  // What is known only later makes the prefix shorter and the search much quicker, but harder to follow.
  const shortest =
    shortestImpossible(object, history, mostStates) ??
    shortestImpossible(withHindsight(object, history), history, mostStates)
  if (!shortest) return `${thread}: no order explains its ${history.length} calls`
  const { calls, finding } = shortest
  const left = calls.filter(
    (call) => Number.isFinite(call.returnedAt) && !finding.order.some((one) => isSame(one, call)),
  )
  return [
    `${thread}: no order explains these ${calls.length} calls`,
    picture(calls, left),
    `the longest order that holds: ${finding.order.map(({ what }) => describe(what)).join(", ")}`,
    `after it: ${describeThread(finding.state)}`,
    ...left.map(({ what, outcome }) => `then impossible: ${describe(what)} → ${JSON.stringify(outcome)}`),
  ].join("\n")
}

const isSame = (one: Call, two: Call): boolean =>
  one.client === two.client && one.calledAt === two.calledAt && one.what === two.what

const width = 48
const mostRows = 40

/** The calls as intervals, the last ones at the bottom: `├──┤`, open at the right where the reply was lost; `▶` marks what is not explained. */
function picture(calls: readonly Call[], left: readonly Call[]): string {
  const shown = [...calls].sort((one, two) => one.calledAt - two.calledAt).slice(-mostRows)
  const from = Math.min(...shown.map(({ calledAt }) => calledAt))
  const to = Math.max(...shown.map(({ calledAt, returnedAt }) => (Number.isFinite(returnedAt) ? returnedAt : calledAt)))
  const column = (time: number) => Math.round(((time - from) / Math.max(to - from, 1)) * (width - 1))
  const rows = shown.map((call) => {
    const isOpen = !Number.isFinite(call.returnedAt)
    const [begin, end] = [column(call.calledAt), isOpen ? width - 1 : column(call.returnedAt)]
    const bar = begin === end ? "│" : `├${(isOpen ? "┄" : "─").repeat(end - begin - 1)}${isOpen ? "?" : "┤"}`
    const mark = left.includes(call) ? "▶" : " "
    const time = (call.calledAt - from).toFixed(0).padStart(6)
    return `${mark} ${time} ms ${`${" ".repeat(begin)}${bar}`.padEnd(width)} ${call.client} ${describe(call.what)} → ${describeOutcome(call)}`
  })
  const hidden = calls.length - shown.length
  return [...(hidden > 0 ? [`  … ${hidden} earlier calls`] : []), ...rows].join("\n")
}

function describe(what: Operation): string {
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
