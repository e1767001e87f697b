/** How long to wait before a unit that ended by itself is started again. Pure. */

// What ran so long does not end for the reason it ended before.
const provenMs = 600_000

interface Crashed {
  readonly crashes: number
  readonly up_ms: number
}

/** How often a unit has crashed in a row, with no long life since. */
export const crashesInARow = ({ crashes, up_ms: upMs }: Crashed): number => (upMs >= provenMs ? 0 : crashes)

/** The same when it crashes now. */
export const crashesAfter = (unit: Crashed): number => crashesInARow(unit) + 1

const firstMs = 1000
const longestMs = 60_000

/** @param crashes  how often it has ended in a row, this time included */
export const backOffMs = (crashes: number): number => Math.min(longestMs, firstMs * 2 ** Math.max(0, crashes - 1))
