/** What a server reports of its load: the control plane adds and takes away replicas by it. */

import { type EventLoopUtilization, performance } from "node:perf_hooks"
import type { Load } from "@superstep/protocol/unit/replies"
import type { Db } from "@superstep/toolkit/db/database"
import { findLongestWaiting } from "./queries.js"

export function loadReport({
  db,
  executor,
}: {
  readonly db: Db
  readonly executor: { freeSlots(): number }
}): () => Promise<Load> {
  let before: EventLoopUtilization = performance.eventLoopUtilization()
  return async () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    const free = executor.freeSlots()
    return {
      free_slots: free,
      waiting_ms: free > 0 ? null : await findLongestWaiting(db),
      loop_utilization: Math.round(utilization * 100) / 100,
    }
  }
}
