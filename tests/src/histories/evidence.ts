/**
 * What later calls say of earlier ones. All of it would be found by the search too, after it has tried what cannot be: so it spares the search
 * nearly all of its work, and decides nothing. Pure.
 */
import { type Call, entryOf, type Outcome, undoes } from "./call.js"
import type { SequentialObject } from "./search.js"
import { statusFits, type Thread } from "./thread.js"

/**
 * What later reads say of calls whose replies were lost: one whose effect was seen has happened by then, and one whose effect is not there at
 * the end, where nothing is undone, never happened. The judge would find the same, with a search.
 */
export function withEvidence(history: readonly Call[]): Call[] {
  const canUndo = history.some(undoes)
  const canDelete = history.some(({ what }) => what.op === "delete")
  const ends = [...history]
    .sort((one, two) => one.calledAt - two.calledAt)
    .slice(-1)
    .map(({ client }) => client)
  return history.flatMap((call) => {
    const { what, outcome } = call
    if (outcome.is !== "unknown") return [call]
    const name = what.op === "update" ? what.entry : "run" in what && what.op !== "cancel" ? what.run : undefined
    if (name === undefined) return [call]
    const shows = history.filter(
      (one) => one.calledAt >= call.calledAt && one.outcome.is === "ok" && showsEffect(one, name),
    )
    if (shows.length > 0) return [{ ...call, returnedAt: Math.min(...shows.map(({ returnedAt }) => returnedAt)) }]
    const isUndone = what.op === "update" ? canDelete : canUndo
    const isReadAtEnd = history.some(
      ({ client, what: { op } }) => ends.includes(client) && op === (what.op === "update" ? "state" : "run"),
    )
    return isUndone || !isReadAtEnd ? [call] : []
  })
}

function showsEffect({ what, outcome }: Call, name: string): boolean {
  if (what.op !== "update" && "run" in what && what.run === name) return what.op === "run" || what.op === "result"
  const { log = [] } = outcome.is === "ok" ? (outcome.value ?? {}) : {}
  return log.some((id) => id === name || id.startsWith(`${name}/`))
}

/** Leaves out states that a later read contradicts: by the end of a run, which does not change, and by the log when all was over. */
export function withHindsight(
  object: SequentialObject<Thread, Call>,
  history: readonly Call[],
): SequentialObject<Thread, Call> {
  const ends = endsOf(history)
  const final = finalLog(history)
  const ranks = new Map(final?.log.map((entry, rank) => [entry, rank]))
  const fitsEnds = (before: Thread, after: Thread) =>
    before.queue.every(({ run }) => {
      const end = ends.get(run)
      if (!end || after.queue.some((one) => one.run === run)) return true
      return after.ended[run] ? statusFits(after, run, end) : end.is === "refused"
    })
  const fitsLog = (after: Thread) => {
    if (!final || after.deletions !== final.deletions) return true
    if (after.log.some((entry, rank) => rank < final.log.length && final.log[rank] !== entry)) return false
    // Runs execute in the order of the queue, so what they append is in that order too.
    let rank = after.log.length
    for (const { run } of after.queue) {
      const next = ranks.get(`${run}/in`) ?? ranks.get(`${run}/answer`) ?? rank
      if (next < rank) return false
      rank = next
    }
    return true
  }
  const fits = (before: Thread) => (after: Thread) => after === before || (fitsEnds(before, after) && fitsLog(after))
  return {
    ...object,
    step: (state, call) => object.step(state, call).filter(fits(state)),
    drift: (state) => object.drift(state).filter(fits(state)),
  }
}

/** How runs ended. That one is gone says how only where no thread was deleted. */
function endsOf(history: readonly Call[]): ReadonlyMap<string, Outcome> {
  const ends = new Map<string, Outcome>()
  const canDelete = history.some(({ what }) => what.op === "delete")
  for (const { what, outcome } of history) {
    if (what.op !== "run") continue
    const status = outcome.is === "ok" ? outcome.value?.status : undefined
    const isGone = outcome.is === "refused" && !canDelete
    if (isGone || (status && status !== "pending" && status !== "running")) ends.set(what.run, outcome)
  }
  return ends
}

/** The log at the end, when nothing was in flight any more, and how often the thread was deleted before. */
function finalLog(
  history: readonly Call[],
): { readonly log: readonly string[]; readonly deletions: number } | undefined {
  const inOrder = [...history].sort((one, two) => one.calledAt - two.calledAt)
  const status = inOrder.findLast(({ what, outcome }) => what.op === "status" && outcome.is === "ok")
  const state = inOrder.findLast(({ what, client }) => what.op === "state" && client === status?.client)
  if (!status || !state || state.outcome.is !== "ok" || status.calledAt < state.returnedAt) return undefined
  const isQuiet = status.outcome.is === "ok" && status.outcome.value?.status !== "busy"
  const isLast = history.every(({ client, calledAt }) => client === state.client || calledAt < state.calledAt)
  const deletions = history.filter(({ what }) => what.op === "delete")
  const areKnown = deletions.every(({ outcome }) => outcome.is !== "unknown")
  if (!isQuiet || !isLast || !areKnown) return undefined
  const log = (state.outcome.value?.log ?? []).map(entryOf)
  return { log, deletions: deletions.filter(({ outcome }) => outcome.is === "ok").length }
}
