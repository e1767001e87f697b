/** Counts over time, in equal parts of a window: what went well and what failed. Pure. */

export interface Bar {
  readonly good: number
  readonly bad: number
}

export interface Counted {
  /** When it began to be counted, as an ISO text. */
  readonly at: string
  readonly all: number
  readonly bad: number
}

/**
 * Counts in `count` equal parts of a window that ends now, oldest first; parts without a point are empty.
 * @param now  in milliseconds since 1970
 */
export function barsOf(
  points: readonly Counted[],
  { count, windowMs, now }: { readonly count: number; readonly windowMs: number; readonly now: number },
): Bar[] {
  const bars = Array.from({ length: count }, () => ({ good: 0, bad: 0 }))
  for (const { at, all, bad } of points) {
    const index = Math.floor(((Date.parse(at) - now + windowMs) / windowMs) * count)
    // A point that began just before the window, and the clock of another machine.
    const bar = bars[Math.min(count - 1, Math.max(0, index))]
    if (!bar) continue
    bar.bad += bad
    bar.good += Math.max(0, all - bad)
  }
  return bars
}

/** The same as a sentence, for those who do not see the chart. @param what  what is counted, and what failed of it, such as `["request", "error"]` */
export function sentenceOf(bars: readonly Bar[], [what, failure]: readonly [what: string, failure: string]): string {
  const bad = bars.reduce((total, bar) => total + bar.bad, 0)
  const all = bars.reduce((total, bar) => total + bar.bad + bar.good, 0)
  if (all === 0) return `no ${what}s`
  return `${all.toLocaleString("en")} ${what}${all === 1 ? "" : "s"}, ${bad.toLocaleString("en")} ${failure}${bad === 1 || failure === "failed" ? "" : "s"}`
}
