/** Starts the delivery of a run's webhook as soon as the run has ended, after the commit. */
import type { Hints } from "@superstep/toolkit/db/hints"

/** @param revisionId  of this server. The active revision delivers, which may be another one: then other servers are notified. */
export const webhookObserver = ({
  deliveries,
  hints,
  revisionId,
}: {
  readonly deliveries: { wake(): void }
  readonly hints: Pick<Hints, "send">
  readonly revisionId: string | null
}) => ({
  started: ({ hasWebhook }: { readonly hasWebhook: boolean }) => ({
    firstEvent: () => undefined,
    ended: () => {
      if (!hasWebhook) return
      deliveries.wake()
      if (revisionId !== null) hints.send("webhooks_due")
    },
  }),
})
