/** A thread as it happens: its conversation by the official hook, and what its graph does. */
import type { Client, ThreadStream } from "@langchain/langgraph-sdk/client"
import { useStream } from "@langchain/react"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { useAgent } from "../agent/use-agent.js"
import { type Activity, noActivity, type ThreadEvent } from "./activity.js"
import { watchThread } from "./watch-thread.js"
import { newMessageTracker } from "./whole-messages.js"

export type State = Record<string, unknown>
export type Conversation = ReturnType<typeof useConversation>["conversation"]

interface ConversationOptions {
  readonly threadId: string
  readonly assistantId: string
  /** The field of the state that has the messages. */
  readonly messagesKey: string
  /** Another number makes the hook read the conversation again. Nothing is mounted again, so drafts stay. */
  readonly epoch: number
}

/** @returns  the hook's view of the thread, and what the hook's stream says about the messages */
export function useConversation({ threadId, assistantId, messagesKey, epoch }: ConversationOptions) {
  const { newClient, streaming } = useAgent()
  // The hook reads the thread again, with the present key of the messages, only when it gets another client.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const { client, tracker } = useMemo(() => {
    const tracker = newMessageTracker()
    return { client: trackedClient(newClient(), tracker.take), tracker }
  }, [newClient, messagesKey, epoch])
  const conversation = useStream<State>({ client, assistantId, threadId, messagesKey, ...streaming })
  return { conversation, tracker }
}

/** Makes the client pass each event of its thread streams to the listener, from the first one on. */
function trackedClient(client: Client, listener: (event: ThreadEvent) => void): Client {
  const { threads } = client
  const open = threads.stream.bind(threads) as (...given: unknown[]) => ThreadStream
  const stream = (...given: unknown[]) => {
    const opened = open(...given)
    opened.onEvent((event) => listener(event as unknown as ThreadEvent))
    return opened
  }
  threads.stream = stream as typeof threads.stream
  return client
}

interface Options {
  readonly threadId: string
  readonly assistantId: string
  readonly onCheckpoint: () => void
  /** The stream is open again after it was lost, and the conversation's has been lost with it. */
  readonly onBack: () => void
}

/** How soon a stream that was lost is opened again. The SDK has tried for some seconds by then. */
export const reopenMs = 5000

/** @returns what the graph does, and why that is not known if it is not */
export function useActivity({ threadId, assistantId, ...called }: Options) {
  const { client, streaming } = useAgent()
  const [activity, setActivity] = useState<Activity>(noActivity)
  const [error, setError] = useState<unknown>()
  const [losses, setLosses] = useState(0)
  const last = useRef(called)
  last.current = called
  useEffect(() => {
    let waiting: ReturnType<typeof setTimeout> | undefined
    const close = watchThread({
      client,
      streaming,
      threadId,
      assistantId,
      onActivity: setActivity,
      onCheckpoint: () => last.current.onCheckpoint(),
      onOpen: () => {
        setError(undefined)
        if (losses > 0) last.current.onBack()
      },
      onEnd: (reason) => {
        setError(reason)
        waiting = setTimeout(() => setLosses(losses + 1), reopenMs)
      },
    })
    return () => {
      clearTimeout(waiting)
      close()
    }
  }, [client, streaming, threadId, assistantId, losses])
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
