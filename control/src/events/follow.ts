/**
 * Follows a deployment's events: woken by notifications, reading from its own last number (E3). It ends with the event
 * that tells the deployment's end, or with its signal.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Event } from "./event.js"
import { type EventFilter, eventsAfter } from "./queries.js"

/** Of `settle_event`; the payload is the deployment's id. */
const eventsChannel = "superstep_events"

const atATime = 100

/** @param after  the number of the last event that is known already */
export async function* followEvents(
  db: Database,
  filter: EventFilter,
  { after, signal }: { after: number; signal: AbortSignal },
): AsyncGenerator<Event, void> {
  const waiting = wakeable(signal)
  const onNotify = (deploymentId: string) => {
    if (deploymentId === filter.deploymentId) waiting.wake()
  }
  // Before the first look: what is committed after it is told.
  const subscription = await db.listen(eventsChannel, onNotify, waiting.wake)
  try {
    let last = after
    while (!signal.aborted) {
      const events = await eventsAfter(db, filter, { after: last, limit: atATime })
      for (const event of events) {
        yield event
        last = event.seq
        if (event.type === "deployment.deleted") return
      }
      if (events.length < atATime) await waiting.untilWoken()
    }
  } finally {
    await subscription.close()
  }
}

/** Remembers a waking that came while nobody waited. */
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
