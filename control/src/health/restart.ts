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

/**
 * How often a unit may end before it was ready: enough to tell a bad moment from a bad program; a program that ends at once is not
 * waited for (control-plane §6.3).
 */
export const crashesThatEndADeploy = 3

// For what it missed to come up beside it.
const pauseMs = 250

/** The same for a unit that has not served yet: somebody waits for its deploy. */
export const startPauseMs = (crashes: number): number => pauseMs * crashes
