/** Background work: polls repositories, sends commit statuses to git hosts, and ends previews. */
import type { Database } from "@superstep/toolkit/db/database"
import { type Polling, startPolling } from "../pushes/poll.js"
import { type StatusSender, startStatusSender } from "../pushes/send-statuses.js"
import { statusChannel } from "../pushes/status-queries.js"
import { type PreviewWork, startPreviews } from "./reconcile.js"

export interface PushWork {
  stop(): Promise<void>
}

/** @param pollMs  0: no polling */
export async function startPushWork(
  input: Polling & StatusSender & PreviewWork & { readonly db: Database },
): Promise<PushWork> {
  const parts = [startStatusSender(input), startPreviews(input), ...(input.pollMs > 0 ? [startPolling(input)] : [])]
  const [statuses] = parts
  const wake = () => statuses?.wake()
  const subscription = await input.db.listen(statusChannel, wake, wake)
  return {
    stop: async () => {
      await subscription.close()
      await Promise.all(parts.map((part) => part.stop()))
    },
  }
}
