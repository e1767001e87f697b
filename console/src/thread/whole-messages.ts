/** The messages of the hook, without the unfinished ones of lost attempts. */
import { useMemo, useSyncExternalStore } from "react"
import type { RawMessage } from "../messages/messages.js"
import type { ThreadEvent } from "./activity.js"
import { type MessageFacts, noFacts, withEvent, withoutLost } from "./lost-messages.js"

/** Collects what one stream says about messages, in the form that `useSyncExternalStore` takes. */
export interface MessageTracker {
  readonly take: (event: ThreadEvent) => void
  readonly facts: () => MessageFacts
  readonly subscribe: (onChange: () => void) => () => void
}

export function newMessageTracker(): MessageTracker {
  let facts = noFacts
  const listeners = new Set<() => void>()
  return {
    take: (event) => {
      const next = withEvent(facts, event)
      if (next === facts) return
      facts = next
      for (const listener of listeners) listener()
    },
    facts: () => facts,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** @param state  the messages of the last checkpoint: unlike those of the hook they have nothing that was not finished */
export function useWholeMessages(
  messages: readonly RawMessage[],
  tracker: MessageTracker,
  state: unknown,
): readonly RawMessage[] {
  const facts = useSyncExternalStore(tracker.subscribe, tracker.facts)
  return useMemo(() => withoutLost(messages, facts, state), [messages, facts, state])
}
