/**
 * What must hold of the reads of one thread whatever the order of its calls: checks without a search, linear in the reads. Each gives a sentence for
 * each fault. Pure.
 */
import { type Call, entryOf, undoes } from "./call.js"
import { changedNumbers } from "./numbers.js"

/** A read of the whole state, of a copy, or of a run's result. */
interface Read extends Call {
  readonly log: readonly string[]
  readonly uncommitted: number
}

export function judgeReads(history: readonly Call[]): string[] {
  const reads = history.flatMap((call): Read[] => {
    const { log, uncommitted = 0 } = call.outcome.is === "ok" ? (call.outcome.value ?? {}) : {}
    return log ? [{ ...call, log, uncommitted }] : []
  })
  return [
    ...new Set([
      ...repeated(reads),
      ...disagreeing(reads),
      ...shrunk(reads, history),
      ...missing(reads, history),
      ...lostItems(history),
      ...history.flatMap(withOtherNumbers),
    ]),
  ]
}

/** No id twice; also not the same entry by two attempts. */
function repeated(reads: readonly Read[]): string[] {
  return reads.flatMap(({ log }) => {
    const twice = log.map(entryOf).filter((entry, at, all) => all.indexOf(entry) !== at)
    return twice.map(
      (entry) => `${entry} is in the state twice: ${log.filter((id) => entryOf(id) === entry).join(", ")}`,
    )
  })
}

/** No two reads have two entries in different orders, or an entry by different attempts. */
function disagreeing(reads: readonly Read[]): string[] {
  const faults: string[] = []
  const ids = new Map<string, string>()
  const follows = new Map<string, Set<string>>()
  for (const { log } of reads) {
    for (const [at, id] of log.entries()) {
      const entry = entryOf(id)
      const seen = ids.get(entry) ?? id
      if (seen !== id) faults.push(`two reads show ${entry} by different attempts: ${seen} and ${id}`)
      ids.set(entry, seen)
      const later = follows.get(entry) ?? new Set()
      for (const other of log.slice(at + 1).map(entryOf)) {
        if (follows.get(other)?.has(entry)) faults.push(`two reads disagree on the order of ${entry} and ${other}`)
        later.add(other)
      }
      follows.set(entry, later)
    }
  }
  return faults
}

/** A result may show an older state than the newest; every other read shows the state of a moment between its call and its return. */
const isOfItsTime = ({ what }: Call): boolean => what.op === "state" || what.op === "copy"

/** Where nothing is undone, what a read shows as committed is a prefix of each read that began after its return. */
function shrunk(reads: readonly Read[], history: readonly Call[]): string[] {
  const faults: string[] = []
  const inOrder = reads.filter(isOfItsTime).sort((one, two) => one.calledAt - two.calledAt)
  for (const [at, later] of inOrder.entries()) {
    if (history.some((call) => undoes(call) && call.calledAt < later.returnedAt)) break
    for (const earlier of inOrder.slice(0, at)) {
      const kept = earlier.log.slice(0, earlier.log.length - earlier.uncommitted)
      if (earlier.returnedAt > later.calledAt || kept.every((id, index) => later.log[index] === id)) continue
      faults.push(`a later read is not a continuation: [${earlier.log.join(" ")}], then [${later.log.join(" ")}]`)
    }
  }
  return faults
}

/** What was acknowledged is in the last read, where nothing is undone: updates, and all entries of runs that ended well. */
function missing(reads: readonly Read[], history: readonly Call[]): string[] {
  if (history.some(undoes)) return []
  const last = reads
    .filter(isOfItsTime)
    .sort((one, two) => one.calledAt - two.calledAt)
    .at(-1)
  if (!last) return []
  const before = history.filter(({ returnedAt, outcome }) => outcome.is === "ok" && returnedAt < last.calledAt)
  const succeeded = new Set(
    before.flatMap(({ what, outcome }) =>
      what.op === "run" && outcome.is === "ok" && outcome.value?.status === "success" ? [what.run] : [],
    ),
  )
  const expected = before.flatMap(({ what }) => {
    if (what.op === "update") return [what.entry]
    if (what.op !== "create" || !succeeded.has(what.run)) return []
    return [`${what.run}/in`, ...Array.from({ length: what.task.steps }, (_, step) => `${what.run}/${step}`)]
  })
  const entries = new Set(last.log.map(entryOf))
  return expected
    .filter((entry) => !entries.has(entry))
    .map((entry) => `${entry} was acknowledged and is not in the last read`)
}

/** What a client has kept and nobody changes is there. */
const lostItems = (history: readonly Call[]): string[] =>
  history.flatMap(({ what, outcome }) =>
    what.op === "kept" && outcome.is === "refused"
      ? [`${what.name} was acknowledged, and a read of it is answered with ${outcome.status}`]
      : [],
  )

/** Numbers come back as they were sent, wherever a reply has them. */
const withOtherNumbers = ({ what, outcome }: Call): string[] =>
  (outcome.is === "ok" ? (outcome.value?.numbers ?? []) : []).flatMap((numbers) => {
    const fault = changedNumbers(numbers)
    return fault === undefined ? [] : [`${what.op}: ${fault}`]
  })
