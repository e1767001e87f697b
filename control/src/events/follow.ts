/**
 * Follows events: woken by notifications, it reads from its own last number (E3). It stops with its signal; when it follows
 * one deployment, also at the event of this deployment's deletion.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Event } from "./event.js"
import { type EventFilter, eventsAfter } from "./queries.js"

/** Notified by `settle_event`; the payload is the deployment's id. */
const eventsChannel = "superstep_events"

const atATime = 100

/** @param after  the number of the last known event */
export async function* followEvents(
  db: Database,
  filter: EventFilter,
  { after, signal }: { after: number; signal: AbortSignal },
): AsyncGenerator<Event, void> {
  const waiting = wakeable(signal)
  const onNotify = (deploymentId: string) => {
    if (filter.deploymentId === undefined || filter.deploymentId === deploymentId) waiting.wake()
  }
  // Subscribed before the first read: everything committed after it causes a notification.
  const subscription = await db.listen(eventsChannel, onNotify, waiting.wake)
  try {
    let last = after
    while (!signal.aborted) {
      const events = await eventsAfter(db, filter, { after: last, limit: atATime })
      for (const event of events) {
        yield event
        last = event.seq
        if (filter.deploymentId !== undefined && event.type === "deployment.deleted") return
      }
      if (events.length < atATime) await waiting.untilWoken()
    }
  } finally {
    await subscription.close()
  }
}

/** Remembers a wake-up that came while nobody waited. */
function wakeable(signal: AbortSignal) {
  let isWoken = false
  let go: () => void = () => undefined
  const wake = () => {
    isWoken = true
    go()
  }
  signal.addEventListener("abort", wake, { once: true })
  const untilWoken = async () => {
    if (!isWoken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        go = resolve
      })
    }
    isWoken = false
  }
  return { wake, untilWoken }
}
