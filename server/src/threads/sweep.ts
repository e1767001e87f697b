/**
 * Ends threads whose time is over (T4). Each thread is a transaction of its own, and several servers may sweep at once:
 * each takes threads that no other has. The time is the database's.
 */
import type { Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { Sweep } from "../sweeps.js"
import { forgetTtls, sweepThread } from "./sweep-queries.js"
import type { TtlStrategy } from "./thread.js"

/** `checkpointer.ttl` of langgraph.json (agent-server-api §17). */
export interface ThreadTtlConfig {
  readonly strategy?: TtlStrategy | undefined
  /** Minutes; without it only threads that were given a time end. */
  readonly default_ttl?: number | null | undefined
  readonly sweep_interval_minutes?: number | null | undefined
  /** The most threads of one sweep. */
  readonly sweep_limit?: number | undefined
}

// A time is told in minutes; a look costs one statement when nothing is due.
const usualIntervalMinutes = 5
const usualLimit = 1000

/**
 * @param limit  how many threads at most
 * @returns      what became of each
 */
export async function sweepThreads(db: Db, limit: number): Promise<{ deleted: number; pruned: number }> {
  const count = { deleted: 0, pruned: 0, skipped: 0 }
  await forgetTtls(db)
  for (let n = 0; n < limit; n++) {
    const swept = await sweepThread(db)
    if (!swept) break
    count[swept.outcome] += 1
  }
  return { deleted: count.deleted, pruned: count.pruned }
}

/** What the project gives a thread that names no time of its own; undefined: it stays. */
export const defaultTtlOf = ({ strategy = "delete", default_ttl: minutes }: ThreadTtlConfig = {}) =>
  minutes ? { strategy, minutes } : undefined

export const threadSweep = (db: Db, ttl: ThreadTtlConfig = {}, log: Log): Sweep => ({
  what: "threads whose time is over",
  everyMs: (ttl.sweep_interval_minutes ?? usualIntervalMinutes) * 60_000,
  step: async () => {
    const swept = await sweepThreads(db, ttl.sweep_limit ?? usualLimit)
    if (swept.deleted + swept.pruned > 0) log.info(swept, "threads whose time was over were swept")
    return false
  },
})
