/** The command `subscription.reconnect`: what a client that lost its WebSocket has missed of a run. */
import type { Db } from "@superstep/toolkit/db/database"
import { isProtocolEvent } from "../events/protocol-event.js"
import { type Executed, parseParams } from "./command.js"
import type { LifecycleItem } from "./run-tree.js"
import { reconnect } from "./schema.js"
import { currentPlace, eventsAfter, lifecycleOf, placeAfter } from "./thread-log.js"

/**
 * Subscriptions end with their connection, so a new one has none of them: its client subscribes again, with `since`.
 * @param hasSubscription  whether this connection has the subscription
 * @throws CommandFailed  `no_such_run`: the thread's log has nothing of the run
 */
export async function reconnected(
  db: Db,
  threadId: string,
  { params, hasSubscription }: { readonly params: unknown; readonly hasSubscription: (id: string) => boolean },
): Promise<Executed> {
  const { run_id: runId, last_event_id: lastEventId, subscriptions } = parseParams(reconnect, params)
  // Read first: the client continues after it, so it must not cover an event that the result does not have.
  const appliedThroughSeq = await currentPlace(db, threadId)
  const items = await lifecycleOf(db, threadId, runId)
  const after = await placeAfter(db, threadId, lastEventId)
  const result = {
    restored: subscriptions ? subscriptions.length > 0 && subscriptions.every(hasSubscription) : false,
    missed_events: await eventsAfter(db, threadId, { after, accepts: isProtocolEvent }),
    current_namespaces: statuses(items),
  }
  return { result, appliedThroughSeq }
}

/** The last status of each namespace, in the order in which they started. */
function statuses(items: readonly LifecycleItem[]): { namespace: readonly string[]; status: string }[] {
  const byPath = new Map(items.map(({ namespace, event }) => [namespace.join("|"), { namespace, status: event }]))
  return [...byPath.values()]
}
