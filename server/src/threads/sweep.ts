/**
 * Deletes or prunes expired threads (T4), each in its own transaction. Several servers may sweep at once: they take different
 * threads. Times are by the database's clock.
 */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "@superstep/toolkit/db/sweeps"
import type { Log } from "@superstep/toolkit/log/log"
import { forgetTtls, removePortion, sweepThread } from "./sweep-queries.js"
import type { TtlStrategy } from "./thread.js"

/** `checkpointer.ttl` of langgraph.json (agent-server-api §17). */
export interface ThreadTtlConfig {
  readonly strategy?: TtlStrategy | undefined
  /** Minutes; without it only threads with their own `ttl` expire. */
  readonly default_ttl?: number | null | undefined
  readonly sweep_interval_minutes?: number | null | undefined
  /** The most threads of one sweep. */
  readonly sweep_limit?: number | undefined
}

// Times to live are given in minutes; a sweep costs two statements when no thread has expired.
const defaultIntervalMinutes = 5
const defaultLimit = 1000

/** The project's time to live for threads without their own; undefined: they never expire. */
export const defaultTtlOf = ({ strategy = "delete", default_ttl: minutes }: ThreadTtlConfig = {}) =>
  minutes ? { strategy, minutes } : undefined

/** Sweeps one thread in each step, so that a server that stops waits for one only. */
export function threadSweep(db: Db, ttl: ThreadTtlConfig = {}, log: Log): Sweep {
  let count = noThreads()
  const end = () => {
    const { deleted, pruned } = count
    count = noThreads()
    if (deleted + pruned > 0) log.info({ deleted, pruned }, "expired threads were swept")
    return false
  }
  return {
    what: "threads whose time is over",
    everyMs: (ttl.sweep_interval_minutes ?? defaultIntervalMinutes) * 60_000,
    step: async () => {
      try {
        if (count.steps++ === 0) await forgetTtls(db)
        const swept = await sweepThread(db)
        if (!swept) return end()
        count[swept.outcome]++
        return count.steps < (ttl.sweep_limit ?? defaultLimit) || end()
      } catch (error) {
        // It ends this sweep.
        end()
        throw error
      }
    },
  }
}

const noThreads = () => ({ steps: 0, deleted: 0, pruned: 0, partly: 0, skipped: 0 })

// Soon after a deletion, since it frees the disk; when nothing is left, a step takes one look at an empty table.
const removalIntervalMs = 5_000

/** Finishes the deletion of long threads, in portions (T3). */
export const removalSweep = (db: Db): Sweep => ({
  what: "checkpoints of deleted threads",
  everyMs: removalIntervalMs,
  step: () => removePortion(db),
})
