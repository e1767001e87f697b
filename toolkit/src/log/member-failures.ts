/**
 * Work that is repeated for each of several members, such as deployments, units or artifacts. What one member throws is logged and
 * remembered, and the work goes on with the others. What fails for a minute is a problem that `/health` and `/v2/system` name.
 *
 * It remembers a member until its work succeeds, or is not attempted any more, as when the member is deleted.
 */
import type { Log } from "./log.js"

// A database or an API that is away for a moment is no problem.
const problemMs = 60_000
/** More are only logged: these are enough for `/health`, and a new one must not take the place of one that lasts. */
export const mostFailing = 1000
// A failure that is not repeated for three times as long as before, and this time, is over.
const forgottenMs = 60_000

interface Failing {
  readonly what: string
  readonly firstAt: number
  readonly lastAt: number
  /** Between the last two failures, in milliseconds. */
  readonly gapMs: number
}

/** Names a member in the log, by fields. */
export type MemberFacts = Readonly<Record<string, string>>

export class MemberFailures {
  readonly #log: Log
  readonly #now: () => number
  readonly #failing = new Map<string, Failing>()

  /** @param now  in milliseconds */
  constructor(log: Log, now = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  /**
   * Does the work of one member. Never throws.
   * @param what  the work, as the log and `/health` name it: "planning"
   * @returns     what the work returned; undefined when it failed
   */
  async attempt<T>(what: string, member: MemberFacts, work: () => Promise<T>): Promise<T | undefined> {
    const key = JSON.stringify([what, member])
    try {
      const result = await work()
      this.#failing.delete(key)
      return result
    } catch (err) {
      this.#log.warn({ err, what, ...member }, "work on one member failed; it is tried again")
      const [lastAt, before] = [this.#now(), this.#failing.get(key)]
      this.#failing.set(key, {
        what,
        firstAt: before?.firstAt ?? lastAt,
        lastAt,
        gapMs: lastAt - (before?.lastAt ?? lastAt),
      })
      this.#forgetOver(lastAt)
      if (before === undefined && this.#failing.size > mostFailing) this.#failing.delete(key)
      return undefined
    }
  }

  /** Does the work of each member, one after the other. Never throws. */
  async forEach<Member>(
    what: string,
    members: Iterable<Member>,
    factsOf: (member: Member) => MemberFacts,
    work: (member: Member) => Promise<unknown>,
  ): Promise<void> {
    for (const member of members) await this.attempt(what, factsOf(member), () => work(member))
  }

  /** How many members it remembers. */
  get size(): number {
    return this.#failing.size
  }

  /** What has failed for a minute, in words without the names of members: everybody may read `/health`. */
  problems(): string[] {
    const now = this.#now()
    this.#forgetOver(now)
    const lasting = [...this.#failing.values()].filter(({ firstAt }) => now - firstAt >= problemMs)
    return [...new Set(lasting.map(({ what }) => what))].map((what) => {
      const members = lasting.filter((it) => it.what === what)
      const minutes = Math.floor((now - Math.min(...members.map(({ firstAt }) => firstAt))) / 60_000)
      const times = members.length === 1 ? "" : ` in ${members.length} places`
      return `${what} fails${times} for ${minutes} min: see "work on one member failed" in the control plane's log`
    })
  }

  /** Also done when nobody reads `/health`: else each member that is deleted while it fails would stay. */
  #forgetOver(now: number): void {
    for (const [key, { lastAt, gapMs }] of this.#failing)
      if (now - lastAt > 3 * gapMs + forgottenMs) this.#failing.delete(key)
  }
}
