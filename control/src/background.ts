/** Background work besides the API and the pipeline: webhook calls, certificates, forwarded logs, samples of units, and deletion of old data. */
import { repeated } from "@superstep/toolkit/exec/repeated"
import { startCollector } from "./acts/collector.js"
import { deleteEndedSessions } from "./console/queries.js"
import { deleteOldEvents } from "./events/queries.js"
import type { Authority } from "./host-names/authority-settings.js"
import { createIssueLoop } from "./host-names/issue-loop.js"
import { deleteOldKeys } from "./idempotency/queries.js"
import { startFollowing } from "./listeners/mirror/follow.js"
import type { Central } from "./listeners/mirror/settings.js"
import { LogForwarder } from "./log-forwarding/forwarder.js"
import { switchOff } from "./log-forwarding/queries.js"
import type { Sink } from "./log-forwarding/sink.js"
import { deleteOldSamples } from "./metrics/queries.js"
import { type SamplerOptions, startSampler } from "./metrics/sampler.js"
import { deleteExpiredInvitations } from "./people/queries.js"
import type { PipelineContext } from "./planner/context.js"
import { deleteOldPreviews } from "./previews/queries.js"
import { deleteOldDeliveries } from "./pushes/queries.js"
import type { AddressRules } from "./webhooks/address-rules.js"
import { createDeliveryLoop } from "./webhooks/delivery-loop.js"

const cleanUpEveryMs = 3_600_000

export interface Background {
  /** Resolves when none of it runs any more. */
  stop(): Promise<void>
}

/** Where log lines go, and which addresses it may have. */
export interface LogTarget {
  readonly sink: Sink
  readonly rules: AddressRules
}

export interface BackgroundOptions extends SamplerOptions {
  readonly webhookRules: AddressRules
  /** Where log lines are forwarded to. */
  readonly logTarget: LogTarget | undefined
  /** Gives certificates for host names; undefined when the operator has accepted the terms of none. */
  readonly authority: Authority | undefined
  /** The control plane that this installation is a listener of. */
  readonly central: Central | undefined
  /** This installation, as it calls that control plane. */
  readonly caller: { readonly homeId: string; readonly version: string }
  /** The public address of agents. */
  readonly agentsUrl: string
  readonly keepEventsDays: number
  readonly keepMetricsHours: number
}

export async function startBackground(context: PipelineContext, options: BackgroundOptions): Promise<Background> {
  const { db, log, key } = context
  const { webhookRules: rules } = options
  const forwarder = await startForwarding(context, options)
  const deliveries = createDeliveryLoop({ db, log, key, rules })
  const certificates = issuing(context, options)
  const cleaning = repeated(() => deleteOldRecords(context, options), cleanUpEveryMs)
  const acts = startCollector(context, options)
  const sampler = startSampler(context, options)
  const following = await startFollowing(context, options)
  await deliveries.start()
  await certificates?.start()
  cleaning.wake()
  return {
    stop: async () => {
      const loops = [deliveries, certificates, cleaning, acts, sampler, forwarder, following]
      await Promise.all(loops.map((loop) => loop?.stop()))
    },
  }
}

async function startForwarding(
  { db, log, crashPoint }: PipelineContext,
  { logTarget }: BackgroundOptions,
): Promise<LogForwarder | undefined> {
  if (!logTarget) {
    await switchOff(db)
    return undefined
  }
  const { sink } = logTarget
  const forwarder = new LogForwarder({ db, log, ...logTarget, crashPoint })
  await forwarder.start()
  log.info({ host: new URL(sink.url).host, format: sink.format }, "logs are forwarded")
  return forwarder
}

function issuing(context: PipelineContext, { authority }: BackgroundOptions) {
  if (!authority) return undefined
  return createIssueLoop({ ...context, authority, publish: context.routing.publish })
}

/** One kind that fails does not stop the others. Never throws. */
export async function deleteOldRecords(
  { db, failures }: Pick<PipelineContext, "db" | "failures">,
  { keepEventsDays, keepMetricsHours }: Pick<BackgroundOptions, "keepEventsDays" | "keepMetricsHours">,
): Promise<void> {
  const steps: Readonly<Record<string, () => Promise<unknown>>> = {
    events: () => deleteOldEvents(db, keepEventsDays),
    samples: () => deleteOldSamples(db, keepMetricsHours),
    "idempotency keys": () => deleteOldKeys(db),
    sessions: () => deleteEndedSessions(db),
    invitations: () => deleteExpiredInvitations(db),
    "deliveries of git hosts": () => deleteOldDeliveries(db),
    previews: () => deleteOldPreviews(db, keepEventsDays),
  }
  for (const [name, step] of Object.entries(steps)) await failures.attempt(`the deletion of old ${name}`, {}, step)
}
