/** Deletes items whose time is over. They are not found before that either, so a sweep only frees their room. */
import type { Log } from "@superstep/toolkit/log/log"
import { deleteExpired } from "./queries.js"
import type { Store } from "./store-settings.js"

// A statement of this many is over soon, and its locks with it.
const atATime = 1000

// What a timer can wait at most, about 24 days.
const longestMs = 2 ** 31 - 1

/**
 * Sweeps every so many minutes, as the project says. Several servers may do so at once: each takes items of its own.
 * @returns a function that stops it
 */
export function startSweepingItems({ db, ttl }: Pick<Store, "db" | "ttl">, log: Log): () => void {
  if (ttl.sweepMinutes === undefined) return () => undefined
  const timer = setInterval(
    () => sweepItems(db).catch((err: unknown) => log.warn({ err }, "items whose time is over could not be deleted")),
    Math.min(ttl.sweepMinutes * 60_000, longestMs),
  )
  timer.unref()
  return () => clearInterval(timer)
}

export async function sweepItems(db: Store["db"]): Promise<void> {
  while ((await deleteExpired(db, atATime)) === atATime);
}
