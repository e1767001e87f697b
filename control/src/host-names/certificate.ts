/** A certificate of a host name: what is stored of it, and when the authority is asked. Pure. */
import { createHash, createPrivateKey, X509Certificate } from "node:crypto"

export interface IssuedCertificate {
  /** PEM: the name's own certificate first, then its issuers. */
  readonly chain: string
  /** PEM. */
  readonly privateKey: string
}

export interface CertificateFacts {
  /** Identifies the chain. */
  readonly sha256: string
  readonly validFrom: Date
  readonly validUntil: Date
}

/** @throws Error  it is not for this name or this key, or it has expired */
export function factsOf({ chain, privateKey }: IssuedCertificate, hostName: string, now: Date): CertificateFacts {
  const certificate = new X509Certificate(chain)
  const facts = {
    sha256: createHash("sha256").update(chain).digest("hex"),
    validFrom: new Date(certificate.validFrom),
    validUntil: new Date(certificate.validTo),
  }
  if (!certificate.checkHost(hostName, { subject: "never" })) throw new Error(`the certificate is not for ${hostName}`)
  if (!certificate.checkPrivateKey(createPrivateKey(privateKey))) throw new Error("the certificate is for another key")
  if (facts.validUntil <= now) throw new Error("the certificate has expired already")
  return facts
}

/** A certificate is renewed when a third of its time is left, as Let's Encrypt recommends. */
export const renewalTime = ({ validFrom, validUntil }: CertificateFacts): Date =>
  new Date(validUntil.getTime() - (validUntil.getTime() - validFrom.getTime()) / 3)

const minuteMs = 60_000
const hourMs = 60 * minuteMs
// Let's Encrypt allows five failures an hour for a name. The first ones are mostly names whose DNS is not set yet.
const delaysMs = [minuteMs, 5 * minuteMs, 20 * minuteMs, hourMs, 4 * hourMs, 12 * hourMs, 24 * hourMs]

/** The pause after a failure. @param tries  consecutive failures, from 1 */
export const retryMs = (tries: number): number => delaysMs[Math.min(tries, delaysMs.length) - 1] ?? minuteMs
