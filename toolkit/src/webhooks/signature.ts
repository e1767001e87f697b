/** The headers of Standard Webhooks, by which a receiver recognizes the sender, the time and repetitions. Pure. */
import { createHmac } from "node:crypto"

/** The format of a signing secret: the key in base64 after a prefix. */
export const signingSecretPattern = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/

export interface Signed {
  /** The same for every try of a delivery. */
  readonly id: string
  readonly sentAt: Date
  readonly body: string
}

/**
 * @param secret  `whsec_…`; undefined leaves the call unsigned
 * @see           the Standard Webhooks specification, "Webhook metadata" and "Symmetric signatures"
 */
export function webhookHeaders({ id, sentAt, body }: Signed, secret: string | undefined): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000))
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp }
  if (secret === undefined) return headers
  const key = Buffer.from(secret.slice("whsec_".length), "base64")
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
  return { ...headers, "webhook-signature": `v1,${signature}` }
}
