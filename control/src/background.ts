/** What goes on beside the API and the pipeline: calls of webhooks, and forgetting what is old. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { forgetOldEvents } from "./events/queries.js"
import { repeated } from "./pipeline/repeated.js"
import type { MasterKey } from "./secrets/seal.js"
import type { AddressRules } from "./webhooks/address-rules.js"
import { DeliveryLoop } from "./webhooks/delivery-loop.js"

const forgetEveryMs = 3_600_000

export interface Background {
  /** Returns when nothing of it goes on. */
  stop(): Promise<void>
}

export async function startBackground(options: {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  readonly webhookRules: AddressRules
  readonly keepEventsDays: number
}): Promise<Background> {
  const { db, log, key, webhookRules: rules } = options
  const deliveries = new DeliveryLoop({ db, log, key, rules })
  const forgetting = repeated(() => forget(options), forgetEveryMs)
  await deliveries.start()
  forgetting.wake()
  return {
    stop: async () => {
      await Promise.all([deliveries.stop(), forgetting.stop()])
    },
  }
}

async function forget({ db, log, keepEventsDays }: Parameters<typeof startBackground>[0]): Promise<void> {
  try {
    await forgetOldEvents(db, keepEventsDays)
  } catch (err) {
    log.warn({ err }, "old records could not be removed; it is tried again")
  }
}
