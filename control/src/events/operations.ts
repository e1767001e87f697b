/** Writes events and reads them. Changes of a status need no call: triggers write them (000004). */
import type { Db } from "@superstep/toolkit/db/database"
import type { Event, NewEvent } from "./event.js"
import { type EventFilter, eventsAfter, eventsBefore, insertEvent } from "./queries.js"

/**
 * Notes that something happened. It belongs into the transaction that does it: then an event is there exactly when its
 * cause is, and so are the calls of the webhooks that want it (E1).
 * @param event  its data goes to people outside: names of secrets, never their values
 */
export const recordEvent = async (tx: Db, event: NewEvent): Promise<void> => {
  await insertEvent(tx, event)
}

export interface EventPage {
  readonly events: readonly Event[]
  /** What the next page begins with; null when a descending list has ended. */
  readonly nextCursor: string | null
}

/**
 * One page of a deployment's events. Upwards the cursor stays good for events that are yet to come; an empty page gives
 * back the one that was asked with.
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
