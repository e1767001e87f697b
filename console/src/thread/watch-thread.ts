/** Follows what a thread's graph does, over all its runs, by the SDK's stream of the thread. */
import type { Client } from "@langchain/langgraph-sdk"
import type { ThreadTransport } from "../agent/use-agent.js"
import { type Activity, follow, noActivity, type ThreadEvent } from "./activity.js"

interface Watch {
  readonly client: Client
  readonly streaming: ThreadTransport
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
  streaming,
  threadId,
  assistantId,
  onActivity,
  onCheckpoint,
  onError,
}: Watch): () => void {
  const thread = client.threads.stream(threadId, { assistantId, ...streaming })
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
  const fail = (error: unknown) => {
    if (!isOver) onError(error)
  }
  // A subscription pauses after each run until the next one writes something: only a listener gets the start of that run.
  thread.onEvent((event) => take(event as unknown as ThreadEvent))
  thread.onError(fail)
  const drain = async () => {
    const events = await thread.subscribe({ channels: ["lifecycle", "tasks", "checkpoints"] })
    while (!isOver) {
      for await (const _ of events) if (isOver) return
      if (!events.isPaused) return
      await events.waitForResume()
    }
  }
  drain().catch(fail)
  return () => {
    isOver = true
    if (frame !== undefined) cancelAnimationFrame(frame)
    void thread.close()
  }
}
