/** Which headers pass, which stop here and which are ours to say. Pure. */
import { isIPv6 } from "node:net"
import { answerHeadersOnward, headerValue, requestHeadersOnward } from "@superstep/protocol/http/end-to-end"
import { isOwnHeader, unitHeader } from "@superstep/protocol/http/own-headers"

/** Headers by lower-case name, each with all its lines: Node's `headersDistinct`. */
export type HeaderLists = Readonly<Record<string, readonly string[] | undefined>>

/**
 * What only the edge may say to a unit, beside everything below `x-superstep-`. `x-api-key` ends here because it is the
 * workspace's key: user code behind the unit must never hold a credential of the platform (architecture D12).
 */
const ours = new Set([
  ...["x-revision-id", "x-api-key", "x-request-id", "forwarded", "x-real-ip"],
  ...["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix"],
])

export interface Caller {
  /** Address of the socket's other end. */
  readonly address: string
  /** Whether that is a proxy of ours, whose word about the caller counts. */
  readonly isTrusted: boolean
  readonly protocol: "http" | "https"
}

export interface Stamp {
  readonly caller: Caller
  readonly prefix: string
  readonly requestId: string
  readonly unitToken: string
}

/** A request's headers, in both forms in which Node gives them. */
export interface AskedHeaders {
  readonly rawHeaders: readonly string[]
  readonly headersDistinct: HeaderLists
}

/** The headers of a request as its unit gets them: name, value, name, value. */
export const requestHeaders = ({ rawHeaders, headersDistinct }: AskedHeaders, stamp: Stamp): string[] => [
  ...requestHeadersOnward(rawHeaders, (name) => ours.has(name) || isOwnHeader(name)),
  ...Object.entries(forwarded(headersDistinct, stamp)).flat(),
  ...["x-request-id", stamp.requestId, unitHeader, stamp.unitToken],
]

/** Tells whether a message has a body, by its headers (RFC 9112 §6.3). */
export const hasBody = (headers: HeaderLists): boolean =>
  headers["transfer-encoding"] !== undefined || (lengthOf(headers) ?? 0) > 0

/** What `Content-Length` says, in bytes; Node's parser has refused a message with two, or with chunks as well. */
export const lengthOf = ({ "content-length": lines }: HeaderLists): number | undefined =>
  lines?.[0] === undefined ? undefined : Number(lines[0])

/** Who called, how and under which address: what we see ourselves, and more only on a trusted proxy's word. */
function forwarded(headers: HeaderLists, { caller, prefix }: Stamp): Record<string, string> {
  const told = (name: string) => (caller.isTrusted ? headers[name]?.join(", ") : undefined)
  const host = told("x-forwarded-host") ?? headers.host?.[0]
  const before = told("x-forwarded-for")
  return {
    "x-forwarded-for": before === undefined ? caller.address : `${before}, ${caller.address}`,
    "x-forwarded-proto": told("x-forwarded-proto") ?? caller.protocol,
    ...(host === undefined ? {} : { "x-forwarded-host": host }),
    "x-forwarded-prefix": `${told("x-forwarded-prefix")?.replace(/\/+$/, "") ?? ""}${prefix}`,
  }
}

/**
 * The headers of an answer as its caller gets them. `Location` and `Content-Location` pass untouched: both SDKs join
 * them to their base URL again, so a prefix would be there twice (control-plane §6.9).
 */
export function responseHeaders(headers: readonly string[], requestId: string): string[] {
  const passing = answerHeadersOnward(headers)
  if (headerValue(passing, "x-request-id") === undefined) passing.push("x-request-id", requestId)
  // Tells an nginx in front of us not to hold events back.
  if (isEventStream(headers) && headerValue(passing, "x-accel-buffering") === undefined) {
    passing.push("x-accel-buffering", "no")
  }
  return passing
}

export const isEventStream = (headers: readonly string[]): boolean =>
  /^text\/event-stream(?:\s*;|$)/i.test(headerValue(headers, "content-type") ?? "")

/** Keeps a caller's request id when it is fit for a log line. @param fresh  makes a new one */
export function requestIdOf(headers: HeaderLists, fresh: () => string): string {
  const [told = ""] = headers["x-request-id"] ?? []
  return /^[\w.:-]{1,128}$/.test(told) ? told : fresh()
}

/** `::ffff:10.0.0.1`, an IPv4 caller on a socket that takes both, as the address people know. */
export const plainAddress = (address: string): string =>
  isIPv6(address) ? address.replace(/^::ffff:(?=\d+\.)/i, "") : address
