/**
 * How many runs may wait on one thread: a client that asks in a loop fills its own thread and not the table. It is asked
 * for only where a thread is busy, and without a lock, so a few that come at the same moment may go over it.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { TooManyRequests } from "@superstep/toolkit/errors/errors"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { countWaitingRuns } from "./queries.js"

export interface WaitingRuns {
  readonly threadId: string
  /** What the thread must match for its caller: of another's thread nothing is told. */
  readonly filter: MetadataFilter | undefined
  /** 0: no limit. */
  readonly most: number
}

// A run takes seconds as a rule; a client that waits this long finds room more often than not.
const retryMs = 5000

/** @throws TooManyRequests  the thread has as many waiting runs as it may */
export async function requireRoom(db: Db, { threadId, filter, most }: WaitingRuns): Promise<void> {
  if (most === 0 || (await countWaitingRuns(db, threadId, { filter, most })) < most) return
  throw new TooManyRequests(`${most} runs wait on this thread: come back when some of them are over`, retryMs)
}
