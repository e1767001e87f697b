/**
 * What the servers' logs say of a campaign: which promises it put to the test, and which rules were broken. A line that tells how a promise
 * was kept names it, as `"promise":"D4"`; docs/durability.md has the promises.
 */
import { brokenRulesIn } from "superstep/prove/evidence"

export const durabilityPage = new URL("../../../docs/durability.md", import.meta.url)

export interface PromiseOfPage {
  /** For example `D4`. */
  readonly id: string
  readonly words: string
  /** Whether a campaign of kills alone reaches it; other promises have tests of their own. */
  readonly isAttackedByKills: boolean
}

/** The promises in the table of docs/durability.md: `| D4 | words | by what | …`. */
export const promisesOf = (page: string): PromiseOfPage[] =>
  [...page.matchAll(/^\| (D\d+) \| ([^|]+) \| ([^|]+) \|/gm)].map(([, id = "", words = "", by = ""]) => ({
    id,
    words: words.trim(),
    isAttackedByKills: by.includes("kills"),
  }))

export interface Logged {
  /** How often each promise was put to the test, by its id. */
  readonly promises: ReadonlyMap<string, number>
  /** The lines that report a broken rule. */
  readonly brokenRules: readonly string[]
}

/** @param logs  the texts of the servers' logs, one line of JSON each */
export function readMarks(logs: readonly string[]): Logged {
  const promises = new Map<string, number>()
  for (const text of logs) {
    for (const [, id = ""] of text.matchAll(/"promise":"(D\d+)"/g)) promises.set(id, (promises.get(id) ?? 0) + 1)
  }
  return { promises, brokenRules: brokenRulesIn(logs) }
}

/** Those that a campaign of kills reaches and this one did not: it proved nothing about them. */
export const unreached = (
  promises: readonly PromiseOfPage[],
  { promises: reached }: Pick<Logged, "promises">,
): PromiseOfPage[] => promises.filter(({ id, isAttackedByKills }) => isAttackedByKills && !reached.has(id))
