/** Tests wait for facts, never for time to pass. */
import { setTimeout as sleep } from "node:timers/promises"

// A fact is often a request or a query, so checking every 10 ms for seconds would use up the processor time that the awaited
// work needs. The pause between two checks grows to a twentieth of the time waited so far.
const [shortestMs, longestMs] = [10, 50]
const shareOfWait = 1 / 20

/** @returns  how long to pause before the next check, in milliseconds, after waiting for `waitedMs` */
const pauseAfter = (waitedMs: number): number => Math.min(longestMs, Math.max(shortestMs, waitedMs * shareOfWait))

type Held<T> = Exclude<T, undefined | null | false | 0 | "">

/**
 * Waits until a fact holds: until `fact` returns a truthy value, and returns that value. What `fact` throws, it throws.
 * @param what       names the fact, for the error: "the run is final"
 * @param timeoutMs  how long to wait at most, in milliseconds; generous, since only a failing test uses it up
 * @throws Error     when it does not hold in time; with the last result of `fact`
 */
export async function until<T>(
  fact: () => T | Promise<T>,
  { what, timeoutMs = 60_000 }: { what: string; timeoutMs?: number },
): Promise<Held<T>> {
  const [held, last] = await asked(fact, timeoutMs)
  if (held) return held
  throw new Error(`timed out after ${timeoutMs} ms waiting until ${what}; the last value was ${last}`)
}

/** As `until`, where the end of the time is an answer as well: undefined. */
export async function heldWithin<T>(fact: () => T | Promise<T>, timeoutMs: number): Promise<Held<T> | undefined> {
  const [held] = await asked(fact, timeoutMs)
  return held
}

/** @returns  what `fact` returned: as what holds, if it did in time, and in any case as it was last */
async function asked<T>(fact: () => T | Promise<T>, timeoutMs: number): Promise<readonly [Held<T> | undefined, T]> {
  const start = performance.now()
  for (;;) {
    const value = await fact()
    if (value) return [value as Held<T>, value]
    const waitedMs = performance.now() - start
    if (waitedMs >= timeoutMs) return [undefined, value]
    await sleep(pauseAfter(waitedMs))
  }
}
