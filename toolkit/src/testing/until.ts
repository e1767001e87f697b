/** Tests wait for facts, never for time to pass. */
import { setTimeout as sleep } from "node:timers/promises"

const pollMs = 10

/**
 * Waits until a fact holds: until `fact` gives something truthy, and returns that.
 * @param what       names what is awaited, for the error: "the run is final"
 * @param timeoutMs  how long to wait at most, in milliseconds; generous, since only a failing test uses it up
 * @throws Error     when it does not hold in time; with what `fact` said last
 */
export async function until<T>(
  fact: () => T | Promise<T>,
  { what, timeoutMs = 60_000 }: { what: string; timeoutMs?: number },
): Promise<Exclude<T, undefined | null | false | 0 | "">> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await fact()
    if (value) return value as Exclude<T, undefined | null | false | 0 | "">
    if (performance.now() >= deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}; it is ${value}`)
    await sleep(pollMs)
  }
}
