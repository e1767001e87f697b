/** The classes in which a unit counts how long runs took, from when they could start to their end. */

/** Upper bounds in milliseconds, from a twentieth of a second to an hour; above the last there is one more class. */
export const runLatencyBoundsMs = [
  50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
] as const

/** The class of a time. */
export function runLatencyClass(ms: number): number {
  const above = runLatencyBoundsMs.findIndex((bound) => ms <= bound)
  return above < 0 ? runLatencyBoundsMs.length : above
}
