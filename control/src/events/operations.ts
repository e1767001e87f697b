/** Writes events and reads them. Changes of a status need no call: triggers write them (000004). */
import type { Db } from "@superstep/toolkit/db/database"
import type { Event, NewEvent } from "./event.js"
import { type EventFilter, eventsAfter, eventsBefore, insertEvent } from "./queries.js"

/**
 * Records an event. Call it in the transaction of its cause: then the event exists exactly when its cause does, and so do
 * the calls of its webhooks (E1).
 * @param event  its data is sent outside: names of secrets, never their values
 */
export const recordEvent = async (tx: Db, event: NewEvent): Promise<void> => {
  await insertEvent(tx, event)
}

export interface EventPage {
  readonly events: readonly Event[]
  /** Cursor of the next page; null when a descending list has ended. */
  readonly nextCursor: string | null
}

/**
 * One page of a deployment's events. In ascending order the cursor also serves for events that do not exist yet; an empty
 * page returns the cursor of its request.
 */
export async function listEvents(
  db: Db,
  filter: EventFilter,
  { order, cursor, limit }: { order: "asc" | "desc"; cursor: number | undefined; limit: number },
): Promise<EventPage> {
  if (order === "asc") {
    const events = await eventsAfter(db, filter, { after: cursor ?? 0, limit })
    return { events, nextCursor: String(events.at(-1)?.seq ?? cursor ?? 0) }
  }
  const events = await eventsBefore(db, filter, { before: cursor, limit })
  const last = events.at(-1)
  return { events, nextCursor: last && events.length === limit ? String(last.seq) : null }
}
