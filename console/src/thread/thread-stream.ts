/** A thread as it happens: its conversation by the official hook, and what its graph does. */
import { useStream } from "@langchain/react"
import { useCallback, useEffect, useRef, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { type Activity, noActivity } from "./activity.js"
import { watchThread } from "./watch-thread.js"

export type State = Record<string, unknown>
export type Conversation = ReturnType<typeof useConversation>

export function useConversation(threadId: string, assistantId: string, messagesKey: string | undefined) {
  const { client, streaming } = useAgent()
  return useStream<State>({
    client,
    assistantId,
    threadId,
    ...streaming,
    ...(messagesKey !== undefined && { messagesKey }),
  })
}

interface Options {
  readonly threadId: string
  readonly assistantId: string
  readonly onCheckpoint: () => void
}

/** @returns what the graph does, and why that is not known if it is not */
export function useActivity({ threadId, assistantId, onCheckpoint }: Options) {
  const { client, streaming } = useAgent()
  const [activity, setActivity] = useState<Activity>(noActivity)
  const [error, setError] = useState<unknown>()
  const noteCheckpoint = useRef(onCheckpoint)
  noteCheckpoint.current = onCheckpoint
  useEffect(() => {
    setActivity(noActivity)
    setError(undefined)
    const onCheckpoint = () => noteCheckpoint.current()
    return watchThread({
      client,
      streaming,
      threadId,
      assistantId,
      onActivity: setActivity,
      onCheckpoint,
      onError: setError,
    })
  }, [client, streaming, threadId, assistantId])
  return { activity, error }
}

/** Calls a function some time after the last of many calls that come together, but at the latest after a few of these times. */
export function useSettled(call: () => void, settleMs: number): () => void {
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const last = useRef(call)
  last.current = call
  useEffect(() => () => clearTimeout(waiting.current), [])
  return useCallback(() => {
    waiting.current ??= setTimeout(() => {
      waiting.current = undefined
      last.current()
    }, settleMs)
  }, [settleMs])
}
