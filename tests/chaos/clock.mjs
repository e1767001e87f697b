/** Imported by a graph, it sets the clock of the worker's process ahead, as on a machine whose clock is wrong. */
const aheadMs = Number(process.env.CHAOS_CLOCK_AHEAD_MS ?? 0)
const now = Date.now
if (aheadMs > 0) Date.now = () => now() + aheadMs
