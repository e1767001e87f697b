/** Follows what a thread's graph does, over all its runs, by the SDK's stream of the thread. */
import type { Client } from "@langchain/langgraph-sdk"
import { type Activity, follow, noActivity, type ThreadEvent } from "./activity.js"

interface Watch {
  readonly client: Client
  readonly webSocket: (url: string) => WebSocket
  readonly threadId: string
  readonly assistantId: string
  /** Called with the present activity, at most once for each frame of the screen. */
  readonly onActivity: (activity: Activity) => void
  /** A checkpoint was written. */
  readonly onCheckpoint: () => void
  readonly onError: (error: unknown) => void
}

/** @returns a function that ends it */
export function watchThread({
  client,
  webSocket,
  threadId,
  assistantId,
  onActivity,
  onCheckpoint,
  onError,
}: Watch): () => void {
  const thread = client.threads.stream(threadId, { assistantId, transport: "websocket", webSocketFactory: webSocket })
  let activity = noActivity
  let frame: number | undefined
  let isOver = false
  const show = () => {
    frame = undefined
    onActivity(activity)
  }
  const take = (event: ThreadEvent) => {
    if (event.method === "checkpoints" && event.params.namespace.length === 0) onCheckpoint()
    const next = follow(activity, event)
    if (next === activity) return
    activity = next
    // The past of a thread comes in one go: only where it leads to is drawn.
    frame ??= requestAnimationFrame(show)
  }
  const read = async () => {
    const events = await thread.subscribe({ channels: ["lifecycle", "tasks", "checkpoints"] })
    for await (const event of events) {
      if (isOver) return
      take(event as unknown as ThreadEvent)
    }
  }
  read().catch((error: unknown) => {
    if (!isOver) onError(error)
  })
  return () => {
    isOver = true
    if (frame !== undefined) cancelAnimationFrame(frame)
    void thread.close()
  }
}
