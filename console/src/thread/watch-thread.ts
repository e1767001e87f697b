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
  /** The stream is open. */
  readonly onOpen: () => void
  /** Called once, unless the caller ended it: the stream has failed, or the SDK gave up to reconnect, which it does in silence. */
  readonly onEnd: (error: unknown) => void
}

/** Does not reconnect after its end. @returns a function that ends it */
export function watchThread({
  client,
  streaming,
  threadId,
  assistantId,
  onActivity,
  onCheckpoint,
  onOpen,
  onEnd,
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
  const end = (error: unknown) => {
    if (isOver) return
    isOver = true
    onEnd(error)
  }
  // A subscription pauses after each run until the next one writes something: only a listener gets the start of that run.
  thread.onEvent((event) => take(event as unknown as ThreadEvent))
  thread.onError(end)
  const drain = async () => {
    const events = await thread.subscribe({ channels: ["lifecycle", "tasks", "checkpoints"] })
    if (!isOver) onOpen()
    while (!isOver) {
      for await (const _ of events) if (isOver) return
      if (!events.isPaused) return
      await events.waitForResume()
    }
  }
  drain().then(() => end(new Error("The connection to the agent is lost.")), end)
  return () => {
    isOver = true
    if (frame !== undefined) cancelAnimationFrame(frame)
    void thread.close()
  }
}
