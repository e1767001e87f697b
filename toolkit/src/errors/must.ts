/**
 * Rules that are checked while the program runs, also in production. The tables of a folder's README give a rule its number; code that
 * relies on a rule says so with `must`. A rule that does not hold is a bug of Superstep: going on could damage data, so the action or the
 * run ends with an error. The process goes on.
 */

/** What a rule said and what was found instead. Its message is for the person who reads the log. */
export class RuleBroken extends Error {
  override readonly name = "RuleBroken"
  /** The number of the rule, for example `R4`. */
  readonly rule: string
  readonly facts: Readonly<Record<string, unknown>>

  constructor(rule: string, what: string, facts: Readonly<Record<string, unknown>>) {
    super(`rule ${rule} is broken: ${what}`)
    this.rule = rule
    this.facts = facts
  }
}

/** How often each rule was broken in this process, by its number. Rules that held are absent. */
export const brokenRules: ReadonlyMap<string, number> = new Map()
const counts = brokenRules as Map<string, number>

type Listener = (broken: RuleBroken) => void
const listeners = new Set<Listener>()

/**
 * Hears of each broken rule at once, also when the error is caught later or becomes the error of a run.
 * @returns a function that removes the listener
 */
export function onBrokenRule(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/**
 * Checks a rule where the code relies on it. It costs a comparison when the rule holds, so `facts` may name what is at hand but must not
 * compute.
 * @param rule   its number in the README of the folder, for example `K1`
 * @param what   what should be, in words
 * @param facts  what helps to find the cause: ids, numbers; no user data
 * @throws RuleBroken
 */
export function must(
  condition: unknown,
  rule: string,
  what: string,
  facts: Readonly<Record<string, unknown>> = {},
): asserts condition {
  if (condition) return
  const broken = new RuleBroken(rule, what, facts)
  counts.set(rule, (counts.get(rule) ?? 0) + 1)
  for (const listener of listeners) listener(broken)
  throw broken
}
