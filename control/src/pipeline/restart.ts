/** How long to wait before a unit that ended by itself is started again. Pure. */

const firstMs = 1000
const longestMs = 60_000

/** @param crashes  how often it has ended, this time included */
export const backOffMs = (crashes: number): number => Math.min(longestMs, firstMs * 2 ** Math.max(0, crashes - 1))
