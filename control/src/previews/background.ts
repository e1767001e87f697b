/** Background work: polls repositories, sends commit statuses to git hosts, and ends previews. */
import type { Database } from "@superstep/toolkit/db/database"
import { type Polling, startPolling } from "../pushes/poll.js"
import { createStatusLoop, type StatusSender } from "../pushes/send-statuses.js"
import { type PreviewWork, startPreviews } from "./reconcile.js"

export interface PushWork {
  stop(): Promise<void>
}

/** @param pollMs  0: no polling */
export async function startPushWork(
  input: Polling & StatusSender & PreviewWork & { readonly db: Database },
): Promise<PushWork> {
  const statuses = createStatusLoop(input)
  await statuses.start()
  const parts = [statuses, startPreviews(input), ...(input.pollMs > 0 ? [startPolling(input)] : [])]
  return {
    stop: async () => {
      await Promise.all(parts.map((part) => part.stop()))
    },
  }
}
