/**
 * Messages that a lost attempt started and did not finish. The next attempt sends them again under other ids, and @langchain/react 1.1
 * keeps both. Which ones are lost follows from the order of the events in the thread's log, whatever the order of their arrival. Pure.
 */

import { areMessages, type RawMessage } from "../messages/messages.js"
import type { ThreadEvent } from "./activity.js"

/** What the events of a thread say about its messages. */
export interface MessageFacts {
  /** Where in the log each message starts, and in which run. */
  readonly begun: ReadonlyMap<string, { readonly runId: string; readonly seq: number }>
  /** Where in the log the latest attempt of each retried run starts. */
  readonly retriedAt: ReadonlyMap<string, number>
  /** Ids of messages that were in the graph's state. */
  readonly saved: ReadonlySet<string>
}

export const noFacts: MessageFacts = { begun: new Map(), retriedAt: new Map(), saved: new Set() }

/** Adds an event. @returns  the same object if the event adds nothing */
export function withEvent(
  facts: MessageFacts,
  { method, event_id: eventId = "", seq = 0, params }: ThreadEvent,
): MessageFacts {
  const data = params.data as Readonly<Record<string, unknown>> | null
  if (typeof data !== "object" || data === null) return facts
  if (method === "messages" && data.event === "message-start" && typeof data.id === "string") {
    // A message that starts again under its id replaces the earlier one.
    if ((facts.begun.get(data.id)?.seq ?? -1) >= seq) return facts
    return { ...facts, begun: new Map(facts.begun).set(data.id, { runId: eventId.split(":")[0] ?? "", seq }) }
  }
  if (params.namespace.length > 0) return facts
  if (method === "lifecycle" && data.event === "running") {
    const [, runId = "", , attempt] = eventId.split(":")
    if (attempt === undefined || (facts.retriedAt.get(runId) ?? -1) >= seq) return facts
    return { ...facts, retriedAt: new Map(facts.retriedAt).set(runId, seq) }
  }
  return method === "values" ? withSaved(facts, data) : facts
}

function withSaved(facts: MessageFacts, values: Readonly<Record<string, unknown>>): MessageFacts {
  const ids = Object.values(values).flatMap((value) => (areMessages(value) ? idsOf(value) : []))
  return ids.every((id) => facts.saved.has(id)) ? facts : { ...facts, saved: new Set([...facts.saved, ...ids]) }
}

/** @param state  the messages of the last checkpoint @returns the messages without those that a lost attempt left unfinished */
export function withoutLost(
  messages: readonly RawMessage[],
  facts: MessageFacts,
  state: unknown,
): readonly RawMessage[] {
  if (facts.retriedAt.size === 0) return messages
  const saved = new Set(areMessages(state) ? idsOf(state) : [])
  const isLost = ({ id = "" }: RawMessage): boolean => {
    const start = facts.begun.get(id)
    if (!start || saved.has(id) || facts.saved.has(id)) return false
    return start.seq < (facts.retriedAt.get(start.runId) ?? -1)
  }
  return messages.some(isLost) ? messages.filter((message) => !isLost(message)) : messages
}

const idsOf = (messages: readonly RawMessage[]): string[] =>
  messages.flatMap(({ id }) => (id === undefined ? [] : [id]))
