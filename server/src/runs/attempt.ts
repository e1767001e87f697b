/** One claim in this server. Everything that belongs to the claim starts and ends with this object. */
import type { Clock } from "@superstep/toolkit/time/clock"
import type { AttemptJournal } from "../checkpoints/attempt-journal.js"
import type { Publisher } from "../events/publisher.js"
import type { ObservedRun } from "./observer.js"
import type { Claim } from "./run.js"

export interface AttemptParts {
  readonly claim: Claim
  readonly publisher: Publisher
  readonly journal: AttemptJournal
  readonly limit: RunLimit
  readonly observed: ObservedRun | undefined
  readonly clock: Clock
}

/**
 * `executing` until its worker has reported how it ended; `ending` until that is written. `left`: the claim was lost, so
 * everything that its worker still sends is ignored.
 */
export type AttemptState = "executing" | "ending" | "left"

export class Attempt {
  readonly claim: Claim
  readonly publisher: Publisher
  readonly journal: AttemptJournal
  readonly limit: RunLimit
  readonly observed: ObservedRun | undefined
  readonly #clock: Clock
  readonly #startedAt: number
  #state: AttemptState = "executing"
  #hasSpoken = false

  constructor({ claim, publisher, journal, limit, observed, clock }: AttemptParts) {
    this.claim = claim
    this.publisher = publisher
    this.journal = journal
    this.limit = limit
    this.observed = observed
    this.#clock = clock
    this.#startedAt = clock.now()
  }

  get state(): AttemptState {
    return this.#state
  }

  get durationMs(): number {
    return Math.round(this.#clock.now() - this.#startedAt)
  }

  publish(event: string, data: Buffer): Promise<void> | undefined {
    if (!this.#hasSpoken) this.observed?.firstEvent()
    this.#hasSpoken = true
    return this.publisher.publish(event, data)
  }

  /** Called when the worker has finished. @returns false when it had finished before, or the claim is lost */
  beginEnd(): boolean {
    if (this.#state !== "executing") return false
    this.#state = "ending"
    this.limit.stop()
    return true
  }

  /** Called when the claim is lost: nothing is published or written for it any more. */
  leave(): void {
    this.#state = "left"
    this.limit.stop()
    this.observed?.ended("released")
    this.publisher.detach()
    this.journal.close()
  }
}

// Long enough for a graph to clean up when it is stopped, and short compared to the time limit.
export const stopGraceMs = 10_000

// The longest time of a timer: 24 days.
const longestMs = 2 ** 31 - 1

export interface RunLimit {
  /** Whether the run was asked to stop because of the time limit. */
  readonly isOver: boolean
  /** Ends the time now, also after `stop`: the run is asked to stop, and is ended without its worker if it does not. */
  expire(): void
  stop(): void
}

/**
 * Starts the time limit of an attempt (R10): at the limit the run is asked to stop; after a grace period it is ended without its worker.
 * @param timeoutMs  how long the attempt may take, in milliseconds; 0: no limit
 * @param onOver     called once at the time limit
 * @param onIgnored  called once, `graceMs` milliseconds later, if `stop` was not called
 */
export function startRunLimit(options: {
  timeoutMs: number
  graceMs: number
  clock: Clock
  onOver: () => void
  onIgnored: () => void
}): RunLimit {
  const { timeoutMs, graceMs, clock, onOver, onIgnored } = options
  let isOver = false
  let stop: () => void = () => undefined
  const over = () => {
    isOver = true
    stop = clock.after(graceMs, onIgnored)
    onOver()
  }
  if (timeoutMs > 0) stop = clock.after(Math.min(timeoutMs, longestMs), over)
  return {
    get isOver() {
      return isOver
    },
    expire: () => {
      stop()
      over()
    },
    stop: () => stop(),
  }
}
