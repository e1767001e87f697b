/**
 * What happens to a call that leaves a program, by chance: it takes some time, fails before or after its effect, or hangs. A program that was
 * killed gets no answer any more.
 */

import { type Clock, pauseFor } from "../../time/clock.js"
import type { Random } from "../seeded-random.js"
import { type Life, never, untilAwake } from "./life.js"

/** A fault that was planned. */
export class SimulatedFault extends Error {}

export interface Manner {
  /** What the call is for, such as `database`; each may be away for some time, and then all calls for it fail. */
  readonly of: string
  /** How long it takes at least and at most, in milliseconds. */
  readonly ms: readonly [number, number]
  /** How many of a thousand calls fail, half of them after their effect. */
  readonly failing: number
  /** How many of a thousand hang for a long time, and fail then, half of them after their effect. */
  readonly hanging?: number
  /** How many of a thousand succeed, but are answered only after a long time, as to a process that was suspended. */
  readonly late?: number
  /** How many of a thousand arrive only after a long time, also when the program is gone by then. */
  readonly delayed?: number
}

const longMs = [5000, 120_000] as const
/** How long after the last fault a call may still be on its way. */
export const longestCallMs = longMs[1]

export class Faults {
  readonly #clock: Clock
  readonly #random: Random
  /** Of some histories no call fails, of others many. */
  readonly #factor: number
  areOn = true
  readonly #awayUntil = new Map<string, number>()

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
    this.#factor = random.pick([0, 0.3, 1, 1, 4])
  }

  /** Whether calls of this history fail, hang or arrive late at all. */
  get mayStrike(): boolean {
    return this.#factor > 0
  }

  /** Whether one of a thousand such chances comes true. */
  strikes(ofThousand: number): boolean {
    return this.#random.next() * 1000 < ofThousand * this.#factor && this.areOn
  }

  /** Every call for a part fails from now on, for so many milliseconds. */
  beAway(part: string, ms: number): void {
    this.#awayUntil.set(part, this.#clock.now() + ms)
  }

  /** Does the work of a call in its manner, as the program sees it. */
  async call<T>(
    life: Life,
    { of, ms, failing, hanging = 0, late = 0, delayed = 0 }: Manner,
    work: () => T | Promise<T>,
  ): Promise<T> {
    await pauseFor(this.#clock, this.#random.between(...ms))
    if (life.isOver) await never
    if (this.areOn && this.#clock.now() < (this.#awayUntil.get(of) ?? 0))
      throw new SimulatedFault(`the simulated ${of} is away`)
    const [fails, hangs, isAfter] = [this.strikes(failing), this.strikes(hanging), this.#random.next() < 0.5]
    const isLost = fails || hangs
    if (delayed > 0 && this.strikes(delayed)) await pauseFor(this.#clock, this.#longMs())
    const answer = isLost && !isAfter ? undefined : await work()
    await untilAwake(this.#clock, life)
    if (hangs || (late > 0 && this.strikes(late))) await pauseFor(this.#clock, this.#longMs())
    await untilAwake(this.#clock, life)
    if (isLost) throw new SimulatedFault(`a simulated fault ${isAfter ? "after" : "before"} the effect`)
    return answer as T
  }

  #longMs(): number {
    return this.#random.between(...longMs)
  }
}
