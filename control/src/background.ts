/** What goes on beside the API and the pipeline: calls of webhooks, samples of what runs, and forgetting what is old. */
import { forgetOldEvents } from "./events/queries.js"
import { forgetOldKeys } from "./http/queries.js"
import { forgetOldSamples } from "./metrics/queries.js"
import { startSampler } from "./metrics/sampler.js"
import type { PipelineContext } from "./pipeline/context.js"
import { repeated } from "./pipeline/repeated.js"
import { forgetOldPreviews } from "./previews/queries.js"
import { forgetOldDeliveries } from "./pushes/queries.js"
import type { AddressRules } from "./webhooks/address-rules.js"
import { createDeliveryLoop } from "./webhooks/delivery-loop.js"

const forgetEveryMs = 3_600_000

export interface Background {
  /** Returns when nothing of it goes on. */
  stop(): Promise<void>
}

export interface BackgroundOptions {
  readonly webhookRules: AddressRules
  readonly keepEventsDays: number
  readonly keepMetricsHours: number
}

export async function startBackground(context: PipelineContext, options: BackgroundOptions): Promise<Background> {
  const { db, log, key } = context
  const { webhookRules: rules } = options
  const deliveries = createDeliveryLoop({ db, log, key, rules })
  const forgetting = repeated(() => forget(context, options), forgetEveryMs)
  const sampler = startSampler(context)
  await deliveries.start()
  forgetting.wake()
  return {
    stop: async () => {
      await Promise.all([deliveries.stop(), forgetting.stop(), sampler.stop()])
    },
  }
}

async function forget(
  { db, log }: PipelineContext,
  { keepEventsDays, keepMetricsHours }: BackgroundOptions,
): Promise<void> {
  try {
    await forgetOldEvents(db, keepEventsDays)
    await forgetOldSamples(db, keepMetricsHours)
    await forgetOldKeys(db)
    await forgetOldDeliveries(db)
    await forgetOldPreviews(db, keepEventsDays)
  } catch (err) {
    log.warn({ err }, "old records could not be removed; it is tried again")
  }
}
