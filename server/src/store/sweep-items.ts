/** Deletes expired items. They are not found even before that, so a sweep only frees their space. */
import type { Sweep } from "@superstep/toolkit/db/sweeps"
import { deleteExpired } from "./queries.js"
import type { Store } from "./store-settings.js"

// A statement that deletes this many is short, and so are its locks.
const atATime = 1000

/**
 * Sweeps at the interval that the project sets. Several servers may sweep at once: each deletes different items.
 * @returns undefined when the project sets no interval
 */
export const itemSweep = ({ db, ttl }: Pick<Store, "db" | "ttl">): Sweep | undefined =>
  ttl.sweepMinutes === undefined
    ? undefined
    : {
        what: "items whose time is over",
        everyMs: ttl.sweepMinutes * 60_000,
        step: async () => (await deleteExpired(db, atATime)) === atATime,
      }
