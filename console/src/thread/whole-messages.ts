/** The messages of the hook, without those that a lost attempt left behind (@langchain/react 1.1 keeps them). */
import { useMemo, useRef } from "react"
import { unfinishedIds, withoutLost } from "./lost-messages.js"
import type { RawMessage } from "./messages.js"
import type { Conversation } from "./thread-stream.js"

/** @param state  the messages of the last checkpoint: unlike those of the hook they have nothing that was not finished */
export function useWholeMessages(conversation: Conversation, state: unknown, attempt: number): readonly RawMessage[] {
  const messages = conversation.messages as unknown as readonly RawMessage[]
  const seen = useRef({ attempt: 1, lost: new Set<string>() })
  if (attempt > seen.current.attempt) for (const id of unfinishedIds(messages, state)) seen.current.lost.add(id)
  seen.current.attempt = attempt
  const { lost } = seen.current
  return useMemo(() => (attempt > 1 ? withoutLost(messages, lost) : messages), [messages, attempt, lost])
}
