/**
 * Whether some order of the calls explains what was seen (Wing and Gong; Lowe's memory of what was tried). A call takes effect once, at a
 * moment between its call and its return; one with an unknown outcome at any moment after its call, or never. Knows no threads: the object
 * says what it allows.
 */
import type { Recorded } from "./call.js"

/** A sequential object: what it may answer in each state. Pure. */
export interface SequentialObject<S, C extends Recorded> {
  readonly start: S
  /** The states after the call, if the object may answer it so; none if it may not. The given state itself: the call is a read, in every state. */
  step(state: S, call: C): readonly S[]
  /** States that the object reaches by itself. */
  drift(state: S): readonly S[]
  /** Equal for equal states. */
  key(state: S): string
}

export type Finding<S, C extends Recorded> =
  | { readonly is: "explained"; readonly order: readonly C[] }
  /** `order`: the longest that explains the calls in it; `state`: what the object is after it. */
  | { readonly is: "impossible"; readonly order: readonly C[]; readonly state: S }
  /** The budget was used up before an order was found or all were tried. */
  | { readonly is: "undecided" }

/** @param mostStates  how many combinations of state and remaining calls are tried; the bound of time and of memory */
export function search<S, C extends Recorded>(
  object: SequentialObject<S, C>,
  history: readonly C[],
  mostStates: number,
): Finding<S, C> {
  const calls = [...history].sort((one, two) => one.calledAt - two.calledAt)
  const isKnown = calls.map(({ returnedAt }) => Number.isFinite(returnedAt))
  const tried = new Set<string>()
  const isDone = new Uint8Array(calls.length)
  const order: C[] = []
  let left = isKnown.filter(Boolean).length
  let longest: { readonly order: readonly C[]; readonly state: S; readonly left: number } = {
    order: [],
    state: object.start,
    left: left + 1,
  }

  /** Those that may be next: called before any of the others has returned. The first of them is the one that returned first. */
  const candidates = (): number[] => {
    let first = Number.POSITIVE_INFINITY
    for (const [index, { calledAt, returnedAt }] of calls.entries()) {
      if (calledAt > first) break
      if (!isDone[index]) first = Math.min(first, returnedAt)
    }
    const next: number[] = []
    for (const [index, { calledAt }] of calls.entries()) {
      if (calledAt >= first) break
      if (!isDone[index]) next.push(index)
    }
    return next.sort((one, two) => (calls[one]?.returnedAt ?? 0) - (calls[two]?.returnedAt ?? 0))
  }

  /** @returns undefined when the budget is used up */
  const explain = (state: S): boolean | undefined => {
    if (left < longest.left) longest = { order: [...order], state, left }
    if (left === 0) return true
    const key = `${isDone.join("")} ${object.key(state)}`
    if (tried.has(key)) return false
    if (tried.size >= mostStates) return undefined
    tried.add(key)
    const next = candidates()
    // A read that fits now may as well come now: what is possible after it stays possible.
    const read = next.find(
      (index) => isKnown[index] && calls[index] && object.step(state, calls[index]).includes(state),
    )
    if (read !== undefined) return explainWith(read, state)
    for (const known of [true, false]) {
      for (const index of next) {
        const call = calls[index]
        if (!call || isKnown[index] !== known) continue
        for (const after of object.step(state, call)) {
          const found = explainWith(index, after)
          if (found !== false) return found
        }
      }
      // What happens by itself is tried before what is known to nobody.
      if (!known) break
      for (const after of object.drift(state)) {
        const found = explain(after)
        if (found !== false) return found
      }
    }
    return false
  }

  const explainWith = (index: number, after: S): boolean | undefined => {
    const call = calls[index]
    if (!call) return false
    isDone[index] = 1
    order.push(call)
    if (isKnown[index]) left--
    const found = explain(after)
    if (found !== false) return found
    isDone[index] = 0
    order.pop()
    if (isKnown[index]) left++
    return false
  }

  const found = explain(object.start)
  if (found === undefined) return { is: "undecided" }
  return found ? { is: "explained", order: [...order] } : { is: "impossible", ...longest }
}

/**
 * The fewest calls, in the order of their returns, that no order explains: what had not returned by then is unknown.
 * @returns undefined when a shorter one could not be decided
 */
export function shortestImpossible<S, C extends Recorded>(
  object: SequentialObject<S, C>,
  history: readonly C[],
  mostStates: number,
): { readonly calls: readonly C[]; readonly finding: Finding<S, C> & { readonly is: "impossible" } } | undefined {
  const ends = history.map(({ returnedAt }) => returnedAt).filter(Number.isFinite)
  ends.sort((one, two) => one - two)
  let [possible, impossible] = [-1, ends.length - 1]
  let shortest: ReturnType<typeof shortestImpossible<S, C>>
  while (possible < impossible - 1 || !shortest) {
    const middle = shortest ? Math.floor((possible + impossible) / 2) : impossible
    const calls = until(history, ends[middle] ?? 0)
    const finding = search(object, calls, mostStates)
    if (finding.is === "undecided") return shortest
    if (finding.is === "explained" && !shortest) return undefined
    if (finding.is === "impossible") {
      shortest = { calls, finding }
      impossible = middle
    } else possible = middle
  }
  return shortest
}

function until<C extends Recorded>(history: readonly C[], end: number): C[] {
  return history
    .filter(({ calledAt }) => calledAt < end)
    .map((call) =>
      call.returnedAt <= end ? call : { ...call, returnedAt: Number.POSITIVE_INFINITY, outcome: { is: "unknown" } },
    )
}
