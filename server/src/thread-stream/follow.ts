/** Sends a client of the newer streaming protocol a thread's log after a place, then its live events. */
import type { Caller } from "../auth/caller.js"
import { LastEvents } from "../events/event.js"
import type { Subscriber } from "../events/topic.js"
import type { Runs } from "../runs/operations.js"
import { announceMissedEnd } from "../runs/overdue-ends.js"
import { notFound } from "../threads/operations.js"
import { standingOf } from "./queries.js"

type Parts = Pick<Runs, "db" | "streams">

export interface Follower {
  readonly caller: Caller
  readonly threadId: string
}

// An event of the thread wakes the client at once; this finds threads that were created without a run.
const lookAgainMs = 1_000

/**
 * Follows a thread for a client, so that the thread's runs have protocol events from now on. A run that ended a moment before has at least
 * its end in the log.
 * @returns false when there is no such thread yet
 * @throws NotFound   the thread was deleted, or the caller may not see it
 * @throws Forbidden  a rule of the project forbids reading it
 */
export async function followThread({ db, streams }: Parts, { caller, threadId }: Follower): Promise<boolean> {
  const { filter } = await caller.authorize("threads:read", { thread_id: threadId })
  for (;;) {
    const standing = await standingOf(db, threadId, filter)
    if (standing === undefined) return false
    if (standing !== "visible") notFound(threadId)
    // The thread may have been deleted at this moment, and then it is as if it had been before.
    if (await streams.followed.follow(threadId, { forProtocol: true })) break
  }
  await announceMissedEnd({ db, streams }, threadId, { forProtocol: true })
  return true
}

/**
 * Waits until the thread exists, and follows it.
 * @param signal  ends the waiting
 * @throws  the errors of `followThread`
 */
export async function untilThreadExists(parts: Parts, follower: Follower, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await followThread(parts, follower))) {
    await parts.streams.arrivals.wait(follower.threadId, { timeoutMs: lookAgainMs, signal })
  }
}

/**
 * Sends the log after a place, then live events. The thread must be followed.
 * @param after  -1 for everything
 */
export async function replayThread(
  { streams }: Parts,
  threadId: string,
  { subscriber, after }: { readonly subscriber: Subscriber; readonly after: number },
): Promise<void> {
  await streams.protocol.replay(threadId, subscriber, { place: after, last: LastEvents.none() })
}
