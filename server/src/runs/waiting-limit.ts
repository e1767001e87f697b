/**
 * Limits how many runs may wait on one thread, so that a client that creates runs in a loop does not fill the table. The limit is
 * checked only for a busy thread, and without a lock, so a few concurrent requests may exceed it.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { TooManyRequests } from "@superstep/toolkit/errors/errors"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { countWaitingRuns } from "./queries.js"

export interface WaitingRuns {
  readonly threadId: string
  /** What the thread must match: a caller learns nothing about threads that it may not see. */
  readonly filter: MetadataFilter | undefined
  /** 0: no limit. */
  readonly most: number
}

// A run usually takes seconds, so after this time there is usually room.
const retryMs = 5000

/** @throws TooManyRequests  the thread has as many waiting runs as it may */
export async function requireRoom(db: Db, { threadId, filter, most }: WaitingRuns): Promise<void> {
  if (most === 0 || (await countWaitingRuns(db, threadId, { filter, most })) < most) return
  throw new TooManyRequests(`${most} runs wait on this thread: come back when some of them are over`, retryMs)
}
