/** A host name of a deployment: what it may look like, and its states. Pure. */
import { domainToASCII } from "node:url"

export interface HostName {
  readonly host_name: string
  readonly deployment_id: string
  readonly created_at: Date
  /** Since when requests for it reach the deployment. */
  readonly verified_at: Date | null
  /** Of its certificate; null without one. */
  readonly valid_until: Date | null
  /** When the authority is asked the next time; null: never. */
  readonly next_try_at: Date | null
  /** Why the last try to get a certificate failed. */
  readonly failure: string | null
}

/**
 * pending: the authority has not answered yet; active: requests reach the deployment; failed: they do not, since the
 * authority refused the name, or its certificate has expired.
 */
export const hostNameStatuses = ["pending", "active", "failed"] as const
export type HostNameStatus = (typeof hostNameStatuses)[number]

export function statusOf({ verified_at, valid_until, failure }: HostName, now: Date): HostNameStatus {
  if (verified_at === null) return failure === null ? "pending" : "failed"
  return valid_until !== null && valid_until <= now ? "failed" : "active"
}

const mostChars = 253
// Letters that only IDNA turns into ASCII are accepted; ports, wildcards, user names and paths are not.
const plausible = /^[\p{L}\p{M}\p{N}.-]+$/u
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The form in which a name is stored and compared: lower case, IDNA's ASCII form, without the dot at the end.
 * @returns  undefined when the text is no host name with at least two labels
 */
export function canonicalHostName(text: string): string | undefined {
  if (text.length > mostChars + 1 || !plausible.test(text)) return undefined
  const name = domainToASCII(text).replace(/\.$/, "")
  const labels = name.split(".")
  const isName = name.length <= mostChars && labels.length >= 2 && labels.every((it) => label.test(it))
  // Names never end with a number: such a text is an IP address (RFC 3696 §2).
  return isName && !/^\d+$/.test(labels.at(-1) ?? "") ? name : undefined
}

/** Names that mean the machine itself (RFC 6761 §6.3). */
export const isLocalName = (name: string): boolean => /(^|\.)localhost$/.test(name)
