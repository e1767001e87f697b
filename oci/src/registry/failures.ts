/** How a registry, or the server that gives tokens for it, fails. */
import { KnownError } from "@superstep/toolkit/errors/errors"

/** A registry refuses a request, or does not answer. */
export class RegistryFailed extends KnownError {
  readonly code = "registry_failed"
  /** Undefined when there was no answer. */
  readonly status: number | undefined
  constructor(message: string, status?: number, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** A registry has a certificate that is not accepted: trying again does not help. */
export class CertificateRefused extends RegistryFailed {}

// Those that a certificate of the authority helps with.
const untrusted = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
])

/** @param cause  of `fetch`, which keeps the reason in its own cause, such as a certificate that is not trusted. Pure. */
export function unanswered(host: string, cause: unknown): RegistryFailed {
  const { code = "" } = (cause as { readonly cause?: { readonly code?: string } }).cause ?? {}
  const refused = (words: string) => new CertificateRefused(`${host} ${words}`, undefined, { cause })
  if (untrusted.has(code))
    return refused(`has a certificate that is not trusted here (${code}): set NODE_EXTRA_CA_CERTS`)
  if (code.includes("CERT"))
    return refused(`has a certificate that is not valid (${code}): check its dates and names, and the clock here`)
  return new RegistryFailed(`${host} does not answer: check the address and the network`, undefined, { cause })
}

/** Whether the same request may succeed later. Pure. */
export const mayPass = (error: unknown): boolean => isRegistryAway(error) && !(error instanceof CertificateRefused)

/** Whether the registry gives no answer that can be used, to no request. What needs nothing new from it goes on. Pure. */
export const isRegistryAway = (error: unknown): boolean =>
  error instanceof RegistryFailed && (error.status === undefined || error.status >= 500 || error.status === 429)
