/** Gets a certificate from an ACME authority (RFC 8555), by the challenge `http-01`. */
import { generateKeyPairSync } from "node:crypto"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { pause } from "@superstep/toolkit/exec/pause"
import type * as library from "acme-client"
import type { Client } from "acme-client"
import type { IssuedCertificate } from "./certificate.js"

/** The authority refused, or could not verify the name. */
export class NotIssued extends KnownError {
  readonly code = "not_issued"
}

export interface PublishedChallenge {
  readonly token: string
  readonly keyAuthorization: string
}

/** PEM of a new key on the curve P-256. */
export const newPrivateKey = (): string =>
  generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey

type Transport = Extract<(typeof library)["axios"]["defaults"]["adapter"], (...args: never) => unknown>

// Between questions about what the authority is doing: it verifies a name, and issues a certificate, within seconds.
const [firstPauseMs, mostPauseMs] = [250, 10_000]
const patienceMs = 90_000
const requestTimeoutMs = 30_000

/** Loads it only where a name needs a certificate. A bundle has no other export of a CommonJS package than its default. */
const loadLibrary = async () => (await import("acme-client")).default

/**
 * Registers the account, or finds the one that the key has already.
 * @param accountKey  PEM
 * @param stopping    ends requests under way
 */
export async function authorityClient(
  { directoryUrl, email }: { readonly directoryUrl: string; readonly email: string },
  accountKey: string,
  stopping: AbortSignal,
): Promise<Client> {
  const acme = await loadLibrary()
  acme.axios.defaults.adapter = transport(stopping)
  const client = new acme.Client({ directoryUrl, accountKey })
  await client.createAccount({ termsOfServiceAgreed: true, contact: [`mailto:${email}`] })
  return client
}

/**
 * In place of the library's own transport, which retries by itself for minutes (the loop does so, and stores when), and
 * reports an authority that cannot be reached as a TypeError.
 */
const transport =
  (stopping: AbortSignal): Transport =>
  async (config) => {
    const { url = "", method = "get", headers, data } = config
    const init = {
      method: method.toUpperCase(),
      headers: headers.toJSON() as Record<string, string>,
      signal: AbortSignal.any([stopping, AbortSignal.timeout(requestTimeoutMs)]),
      ...(data !== undefined && { body: data as string }),
    }
    const response = await fetch(url, init).catch(({ message, cause }: Error) => {
      const { code, message: detail = message } = (cause ?? {}) as { code?: string; message?: string }
      throw new NotIssued(`the authority at ${new URL(url).host} cannot be reached: ${code ?? detail}`)
    })
    const { status, statusText } = response
    return { data: await response.text(), status, statusText, headers: Object.fromEntries(response.headers), config }
  }

export interface OrderOptions {
  /** Resolves when the edge answers the challenge. */
  readonly publish: (challenge: PublishedChallenge) => Promise<void>
  readonly stopping: AbortSignal
}

/** @throws NotIssued  with the authority's reason */
export async function orderCertificate(
  client: Client,
  hostName: string,
  { publish, stopping }: OrderOptions,
): Promise<IssuedCertificate> {
  const { crypto } = await loadLibrary()
  const order = await client.createOrder({ identifiers: [{ type: "dns", value: hostName }] })
  const [authorization] = await client.getAuthorizations(order)
  // It is valid when the name was verified a short while ago.
  if (authorization && authorization.status !== "valid") {
    const challenge = authorization.challenges.find(({ type }) => type === "http-01")
    if (!challenge) throw new NotIssued("the authority offers no http-01 challenge")
    await publish({ token: challenge.token, keyAuthorization: await client.getChallengeKeyAuthorization(challenge) })
    await client.completeChallenge(challenge)
    await untilValid(async () => {
      const [now] = await client.getAuthorizations(order)
      return { status: now?.status, error: now?.challenges.find(({ error }) => error)?.error }
    }, stopping)
  }
  const privateKey = newPrivateKey()
  const [, request] = await crypto.createCsr({ altNames: [hostName] }, privateKey)
  await client.finalizeOrder(await client.getOrder(order), request)
  const finished = await untilValid(() => client.getOrder(order), stopping)
  return { chain: await client.getCertificate(finished), privateKey }
}

interface Progress {
  readonly status?: string | undefined
  /** A problem document (RFC 7807). */
  readonly error?: unknown
}

/** @throws NotIssued  it is not valid in the end, or not in time */
async function untilValid<T extends Progress>(read: () => Promise<T>, stopping: AbortSignal): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, mostPauseMs)) {
    const now = await read()
    if (now.status === "valid") return now
    if (now.status !== "pending" && now.status !== "ready" && now.status !== "processing") throw refusalOf(now)
    if (performance.now() > deadline) throw new NotIssued("the authority has not answered in time")
    await pause(pauseMs, stopping)
    if (stopping.aborted) throw new NotIssued("the platform stops")
  }
}

function refusalOf({ status, error }: Progress): NotIssued {
  const { detail } = (error ?? {}) as { detail?: string }
  return new NotIssued(detail ?? `the authority says: ${status}`)
}
