/** Says for people why no order explains a history: the shortest impossible prefix, its calls as intervals. Pure. */
import type { Recorded } from "./call.js"
import { type SequentialObject, shortestImpossible } from "./search.js"

/** How the calls and states of an object are printed. */
export interface Words<S, C extends Recorded> {
  describe(call: C): string
  describeOutcome(call: C): string
  describeState(state: S): string
}

/** @param objects  the same object, first as it is easiest to follow, then as it is quickest to search */
export function explain<S, C extends Recorded>(
  name: string,
  objects: readonly SequentialObject<S, C>[],
  history: readonly C[],
  words: Words<S, C> & { readonly mostStates: number },
): string {
  for (const object of objects) {
    const shortest = shortestImpossible(object, history, words.mostStates)
    if (shortest) return textOf(name, shortest.calls, shortest.finding, words)
  }
  return `${name}: no order explains its ${history.length} calls`
}

function textOf<S, C extends Recorded>(
  name: string,
  calls: readonly C[],
  { order, state }: { readonly order: readonly C[]; readonly state: S },
  words: Words<S, C>,
): string {
  const left = calls.filter((call) => Number.isFinite(call.returnedAt) && !order.some((one) => isSame(one, call)))
  return [
    `${name}: no order explains these ${calls.length} calls`,
    picture(calls, left, words),
    `the longest order that holds: ${order.map((call) => words.describe(call)).join(", ")}`,
    `after it: ${words.describeState(state)}`,
    ...left.map((call) => `then impossible: ${words.describe(call)} → ${JSON.stringify(call.outcome)}`),
  ].join("\n")
}

const isSame = (one: Recorded, two: Recorded): boolean =>
  one.client === two.client && one.calledAt === two.calledAt && one.what === two.what

const width = 48
const mostRows = 40

/** The calls as intervals, the last ones at the bottom: `├──┤`, open at the right where the reply was lost; `▶` marks what is not explained. */
function picture<S, C extends Recorded>(calls: readonly C[], left: readonly C[], words: Words<S, C>): string {
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
    return `${mark} ${time} ms ${`${" ".repeat(begin)}${bar}`.padEnd(width)} ${call.client} ${words.describe(call)} → ${words.describeOutcome(call)}`
  })
  const hidden = calls.length - shown.length
  return [...(hidden > 0 ? [`  … ${hidden} earlier calls`] : []), ...rows].join("\n")
}
