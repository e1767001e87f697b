/**
 * Asks a serving unit once a second how many threads are pinned to each former revision. The answer is kept in memory for the plan; the
 * number of threads is stored, since the API shows it with the revision.
 */
import { isDeepStrictEqual } from "node:util"
import { askPins } from "@superstep/machines/unit-client/unit-client"
import type { Pins } from "@superstep/machines/unit-client/unit-replies"
import type { UnitAddress } from "@superstep/machines/unit-client/unit-request"
import type { Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { Clock } from "@superstep/toolkit/time/clock"
import { recordPinnedThreads } from "../revisions/role-queries.js"
import type { ObservedPins } from "./facts.js"

const everyMs = 1000

export interface PinnedRevision {
  readonly revisionId: string
  readonly deploymentId: string
  /** Of a unit that can be asked; undefined while there is none, as in a deployment that sleeps. */
  readonly address: (() => UnitAddress) | undefined
}

export interface PinObserver {
  /** Asks about these revisions and no other. */
  follow(revisions: readonly PinnedRevision[]): void
  /** The last answer; undefined before the first one, and while nobody can be asked. */
  seen(revisionId: string): ObservedPins | undefined
  stop(): Promise<void>
}

interface Watch {
  readonly deploymentId: string
  address: (() => UnitAddress) | undefined
  seen: Pins | undefined
  /** When a run was seen last, or the first look was taken. */
  busyAt: number
  asking: Promise<void> | undefined
  /** Of the next look. */
  cancelTimer: () => void
}

/** @param onChange  called when an answer is another one than before */
export function startPinObserver({
  db,
  clock,
  log,
  onChange,
}: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly onChange: (deploymentId: string) => void
}): PinObserver {
  const watches = new Map<string, Watch>()

  const ask = async (revisionId: string, watch: Watch): Promise<void> => {
    if (!watch.address) return
    try {
      const seen = await askPins(watch.address(), revisionId)
      if (!seen || watches.get(revisionId) !== watch) return
      if (seen.has_runs || watch.seen === undefined) watch.busyAt = clock.now()
      if (isDeepStrictEqual(seen, watch.seen)) return
      await recordPinnedThreads(db, revisionId, seen.threads)
      watch.seen = seen
      onChange(watch.deploymentId)
    } catch (err) {
      log.warn({ err, revision_id: revisionId }, "a unit does not say what is pinned; it is asked again")
    }
  }
  const begin = (revisionId: string, watch: Watch): void => {
    watch.asking = ask(revisionId, watch).finally(() => {
      watch.asking = undefined
      if (watches.get(revisionId) === watch) watch.cancelTimer = clock.after(everyMs, () => begin(revisionId, watch))
    })
  }
  const end = (revisionId: string, watch: Watch): void => {
    watches.delete(revisionId)
    watch.cancelTimer()
  }

  return {
    follow: (revisions) => {
      const followed = new Set(revisions.map(({ revisionId }) => revisionId))
      for (const [revisionId, watch] of watches) if (!followed.has(revisionId)) end(revisionId, watch)
      for (const { revisionId, deploymentId, address } of revisions) {
        const watch = watches.get(revisionId)
        if (watch) {
          watch.address = address
          if (!address) watch.seen = undefined
          continue
        }
        const added: Watch = {
          deploymentId,
          address,
          seen: undefined,
          busyAt: clock.now(),
          asking: undefined,
          cancelTimer: () => {},
        }
        watches.set(revisionId, added)
        begin(revisionId, added)
      }
    },
    seen: (revisionId) => {
      const { seen, busyAt } = watches.get(revisionId) ?? {}
      return seen && { ...seen, quiet_ms: clock.now() - (busyAt ?? 0) }
    },
    stop: async () => {
      const open = [...watches.values()].map(({ asking }) => asking)
      for (const [revisionId, watch] of watches) end(revisionId, watch)
      await Promise.all(open)
    },
  }
}
