/** Background work: polls repositories, sends commit statuses to git hosts, and ends previews. */
import type { Database } from "@superstep/toolkit/db/database"
import { type PreviewWork, startPreviews } from "../previews/reconcile.js"
import { type Polling, startPolling } from "./poll.js"
import { type StatusSender, startStatusSender } from "./send-statuses.js"
import { statusChannel } from "./status-queries.js"

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
