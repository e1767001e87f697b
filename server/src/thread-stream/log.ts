/** What a thread's log has for a client now. */
import type { Db } from "@superstep/toolkit/db/database"
import { lastPlaceOfThread } from "../events/queries.js"
import { countEvents } from "./queries.js"

/** The place of the thread's last event; 0 when there is none. */
export const currentPlace = async (db: Db, threadId: string): Promise<number> =>
  Math.max(0, await lastPlaceOfThread(db, threadId))

/** How many events after a place a client accepts. */
export async function eventsAfter(
  db: Db,
  threadId: string,
  { after, accepts }: { readonly after: number; readonly accepts: (event: string) => boolean },
): Promise<number> {
  const counts = await countEvents(db, threadId, after)
  return counts.reduce((sum, { event, count }) => sum + (accepts(event) ? count : 0), 0)
}
