/** Large counts as a person reads them, and the marks of a time axis. Pure. */

/** Such as `930`, `1.2k`, `35k`. */
export const countText = (count: number): string =>
  count < 1000 ? String(count) : count < 10_000 ? `${Math.round(count / 100) / 10}k` : `${Math.round(count / 1000)}k`

/** About five round distances from the start, in milliseconds, within the length. */
export function ticksOf(lengthMs: number): number[] {
  const step = stepFor(lengthMs / 5)
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, n) => n * step)
}

function stepFor(least: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, least)))
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => step >= least) ?? size
}
