/** Deletes items whose time is over. They are not found before that either, so a sweep only frees their room. */
import type { Sweep } from "../sweeps.js"
import { deleteExpired } from "./queries.js"
import type { Store } from "./store-settings.js"

// A statement of this many is over soon, and its locks with it.
const atATime = 1000

/**
 * Every so many minutes, as the project says. Several servers may do so at once: each takes items of its own.
 * @returns undefined when items stay
 */
export const itemSweep = ({ db, ttl }: Pick<Store, "db" | "ttl">): Sweep | undefined =>
  ttl.sweepMinutes === undefined
    ? undefined
    : {
        what: "items whose time is over",
        everyMs: ttl.sweepMinutes * 60_000,
        step: async () => (await deleteExpired(db, atATime)) === atATime,
      }
