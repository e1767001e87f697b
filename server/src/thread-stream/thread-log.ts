/** What a thread's log has for a client now. */
import type { Db } from "@superstep/toolkit/db/database"
import { parseJson } from "@superstep/toolkit/http/json"
import { lastPlaceOfThread, placeInThread } from "../events/queries.js"
import { CommandFailed } from "./command.js"
import { countEvents, findLifecycle, findRootLifecycle } from "./queries.js"
import type { LifecycleItem } from "./run-tree.js"

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

const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
const rootLifecycleId = new RegExp(`^synth:(${uuid}):`)
const ownId = new RegExp(`^(${uuid}):(\\d{1,15})$`)

/**
 * The place after which a client continues that has lost its connection.
 * @param eventId  an event's `event_id` or place; without one, and for an unknown one, the client continues from the start: -1
 */
export async function placeAfter(db: Db, threadId: string, eventId: string | null | undefined): Promise<number> {
  if (!eventId) return -1
  if (/^\d{1,15}$/.test(eventId)) return Number(eventId)
  const [, ofRoot] = rootLifecycleId.exec(eventId) ?? []
  if (ofRoot) return (await findRootLifecycle(db, threadId, { runId: ofRoot, eventId })) ?? -1
  const [, runId, seq] = ownId.exec(eventId) ?? []
  if (!runId) return -1
  return (await placeInThread(db, threadId, { runId, seq: Number(seq) })) ?? -1
}

/**
 * What a run's lifecycle events say, in their order.
 * @param runId  null: the run that started last
 * @throws CommandFailed  the log has none
 */
export async function lifecycleOf(db: Db, threadId: string, runId: string | null): Promise<LifecycleItem[]> {
  const events = await findLifecycle(db, threadId, runId)
  if (events.length === 0)
    throw new CommandFailed("no_such_run", "No run of this thread has left its lifecycle in the thread's log.")
  return events.map(({ data }) => {
    const { params } = parseJson(data) as {
      params: { namespace: string[]; data: { event: string; graph_name?: string } }
    }
    return { namespace: params.namespace, ...params.data }
  })
}
