/** What waits and what executes, for people who look at the queue (an extension of Superstep). */
import type { Caller } from "../auth/caller.js"
import type { Page } from "../http/pagination.js"
import type { Runs } from "./parts.js"
import { waitOf } from "./queue-entry.js"
import { countQueuedRuns, findQueuedRuns, type QueuedRow } from "./queue-queries.js"

export interface QueueQuery extends Page {
  readonly status: "pending" | "running"
  /** Only this run, whose position is not known then. */
  readonly runId?: string | undefined
}

/** A page of the waiting or running runs of all threads that the caller may see, and the number of all of them. */
export async function readQueue(
  { db, executor, workers, claimer }: Pick<Runs, "db" | "executor" | "workers" | "claimer">,
  caller: Caller,
  { status, runId, ...page }: QueueQuery,
) {
  const { filter } = await caller.authorize("threads:search", { metadata: {}, status: "busy", ...page })
  const [rows, total] = await Promise.all([
    findQueuedRuns(db, { status, filter, runId, page }),
    countQueuedRuns(db, { status, filter, runId }),
  ])
  const room = {
    revisionId: claimer.revisionId,
    freeSlots: executor.freeSlots(),
    freeSoloSlots: workers.freeSoloSlots(),
  }
  const isWaiting = status === "pending"
  const runs = rows.map((row: QueuedRow, n) => ({
    row,
    position: isWaiting && runId === undefined ? page.offset + n + 1 : null,
    wait: isWaiting ? waitOf(row, room) : null,
  }))
  return { runs, total }
}
