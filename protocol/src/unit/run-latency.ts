/** The classes in which a unit counts how long runs took, from when they could start to their end, and until their first token. */

/** Upper bounds in milliseconds, from a twentieth of a second to an hour; above the last there is one more class. */
export const runLatencyBoundsMs = [
  50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
] as const

/** The same for the first token, finer where a person notices. */
export const firstTokenBoundsMs = [
  50, 100, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10_000, 20_000, 30_000, 60_000, 300_000, 3_600_000,
] as const

/** The class of a time. */
export const runLatencyClass = (ms: number): number => classOf(ms, runLatencyBoundsMs)

export const firstTokenClass = (ms: number): number => classOf(ms, firstTokenBoundsMs)

function classOf(ms: number, boundsMs: readonly number[]): number {
  const above = boundsMs.findIndex((bound) => ms <= bound)
  return above < 0 ? boundsMs.length : above
}
