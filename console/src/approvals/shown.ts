/** Which question is shown, and which are marked, while the list changes by itself. Pure. */
import type { SentAnswer } from "./answers.js"
import type { WaitingInterrupt } from "./waiting.js"

type Keys = readonly Pick<WaitingInterrupt, "key">[]

/**
 * A question stays until it no longer waits. Then nothing is shown until a person chooses: another question must not come under
 * a pointer that is about to press "Approve".
 * @param linked  what the address names
 * @param before  what was shown before; undefined if nothing was shown yet
 */
export function shownOf(waiting: Keys, linked: string | undefined, before: string | undefined): string | undefined {
  const kept = [linked, before].find((key) => waiting.some((one) => one.key === key))
  if (kept !== undefined) return kept
  return linked === undefined && before === undefined ? waiting[0]?.key : undefined
}

/** A choice of all means those that the person sees now, not those that arrive later. */
export const marksOf = (selection: "all" | ReadonlySet<string | number>, waiting: Keys): ReadonlySet<string> =>
  new Set(selection === "all" ? waiting.map(({ key }) => key) : [...selection].map(String))

interface Asked {
  readonly waiting: Pick<WaitingInterrupt, "key" | "threadId">
}

/** A question whose answer was refused keeps its mark, for another try. */
export function marksAfter(
  marks: ReadonlySet<string>,
  answered: readonly Asked[],
  sent: readonly SentAnswer[],
): ReadonlySet<string> {
  const accepted = new Set(sent.flatMap(({ threadId, runId }) => (runId === undefined ? [] : [threadId])))
  const over = new Set(answered.flatMap(({ waiting }) => (accepted.has(waiting.threadId) ? [waiting.key] : [])))
  return new Set([...marks].filter((key) => !over.has(key)))
}
