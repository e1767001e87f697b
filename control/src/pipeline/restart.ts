/** How long to wait before a unit that ended by itself is started again. Pure. */

// What ran so long does not end for the reason it ended before.
const provenMs = 600_000

/** How often a unit has ended now, this time included: in a row, with no long life in between. */
export const crashesAfter = ({ crashes, up_ms: upMs }: { readonly crashes: number; readonly up_ms: number }): number =>
  upMs >= provenMs ? 1 : crashes + 1

const firstMs = 1000
const longestMs = 60_000

/** @param crashes  how often it has ended in a row, this time included */
export const backOffMs = (crashes: number): number => Math.min(longestMs, firstMs * 2 ** Math.max(0, crashes - 1))
