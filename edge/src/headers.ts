/** Decides which headers pass, which stop here and which the edge sets itself. Pure. */

import { answerHeadersOnward, headerValue, requestHeadersOnward } from "@superstep/protocol/http/end-to-end"
import {
  consoleHeader,
  isOwnHeader,
  noApprovalUnitHeader,
  personHeader,
  unitHeader,
} from "@superstep/protocol/http/own-headers"
import { type Person, personText } from "@superstep/protocol/http/person"
import { isSessionCookie, sessionCookieName } from "@superstep/protocol/http/session-cookie"
import { openToAll, type PreflightRule } from "@superstep/toolkit/http/cross-origin"
import { withoutEnd } from "@superstep/toolkit/text/without-end"

/** Headers by lower-case name, each with all its lines: Node's `headersDistinct`. */
export type HeaderLists = Readonly<Record<string, readonly string[] | undefined>>

/**
 * Headers that only the edge may send to a unit, besides all that start with `x-superstep-`. `x-api-key` stops here because
 * it is the workspace's key: user code behind the unit must never hold a credential of the platform (architecture D12).
 */
const ours = new Set([
  ...["x-revision-id", "x-api-key", "x-request-id", "forwarded", "x-real-ip"],
  ...["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix"],
  // To LangGraph's servers it says "no login needed"; behind the edge only a token of the console says so (decision 63).
  "x-auth-scheme",
])

export interface Caller {
  /** Address of the peer. */
  readonly address: string
  /** Whether the peer is a trusted proxy, whose forwarding headers are believed. */
  readonly isTrusted: boolean
  readonly protocol: "http" | "https"
}

export interface Stamp {
  readonly caller: Caller
  /** Empty at a host name of the deployment. */
  readonly prefix: string
  readonly requestId: string
  readonly unitToken: string
  readonly isConsole: boolean
  readonly person: Person | undefined
  readonly mayApprove: boolean
  /** Of the request: on 1.0 the caller cannot see that an answer breaks off, so the unit must know it. */
  readonly httpVersion: string
}

/** A request's headers, in both of Node's forms. */
export interface AskedHeaders {
  readonly rawHeaders: readonly string[]
  readonly headersDistinct: HeaderLists
}

/** The headers of a request for its unit: name, value, name, value. */
export const requestHeaders = ({ rawHeaders, headersDistinct }: AskedHeaders, stamp: Stamp): string[] => [
  ...withoutSession(requestHeadersOnward(rawHeaders, (name) => ours.has(name) || isOwnHeader(name))),
  ...Object.entries(forwarded(headersDistinct, stamp)).flat(),
  ...["x-request-id", stamp.requestId, stamp.mayApprove ? unitHeader : noApprovalUnitHeader, stamp.unitToken],
  ...(stamp.isConsole ? [consoleHeader, "1"] : []),
  ...(stamp.person ? [personHeader, personText(stamp.person)] : []),
  ...(stamp.httpVersion === "1.0" ? ["via", "1.0 superstep"] : []),
]

/**
 * Cookies do not distinguish ports, so on one host a browser sends the console's session to agents too. Code behind the unit must not
 * have it.
 */
const withoutSession = (headers: readonly string[]): string[] =>
  pairsOf(headers).flatMap(([name, value]) => {
    const passing = name.toLowerCase() === "cookie" ? cookiesOnward(value) : value
    return passing === undefined ? [] : [name, passing]
  })

/** @returns  undefined when nothing is left */
function cookiesOnward(value: string): string | undefined {
  if (!value.includes(sessionCookieName)) return value
  const pairs = value.split(";").filter((pair) => !isSessionCookie(pair))
  return pairs.length === 0 ? undefined : pairs.join(";").trim()
}

/** Returns whether a message has a body, by its headers (RFC 9112 §6.3). */
export const hasBody = (headers: HeaderLists): boolean =>
  headers["transfer-encoding"] !== undefined || (lengthOf(headers) ?? 0) > 0

/** `Content-Length` in bytes; Node's parser has refused a message with two, or with chunks as well. */
export const lengthOf = ({ "content-length": lines }: HeaderLists): number | undefined =>
  lines?.[0] === undefined ? undefined : Number(lines[0])

/** The forwarding headers: what the edge sees itself, extended by a trusted proxy's own headers. */
function forwarded(headers: HeaderLists, { caller, prefix }: Stamp): Record<string, string> {
  const trusted = (name: string) => (caller.isTrusted ? headers[name]?.join(", ") : undefined)
  const host = trusted("x-forwarded-host") ?? headers.host?.[0]
  const before = trusted("x-forwarded-for")
  const wholePrefix = `${withoutEnd(trusted("x-forwarded-prefix") ?? "", "/")}${prefix}`
  return {
    "x-forwarded-for": before === undefined ? caller.address : `${before}, ${caller.address}`,
    "x-forwarded-proto": trusted("x-forwarded-proto") ?? caller.protocol,
    ...(host === undefined ? {} : { "x-forwarded-host": host }),
    ...(wholePrefix !== "" && { "x-forwarded-prefix": wholePrefix }),
  }
}

/**
 * The headers of an answer for its caller. `Location` and `Content-Location` pass unchanged: both SDKs join them to their
 * base URL, so a prefix would appear twice (control-plane §6.9).
 * @param console  the origin of the console's page that has sent the request: it may read the answer, whatever the unit says
 */
export function responseHeaders(headers: readonly string[], requestId: string, console?: string): string[] {
  const isForConsole = console !== undefined
  const passing = pairsOf(answerHeadersOnward(headers))
    .filter(([name, value]) => !isRefused(name.toLowerCase(), value, isForConsole))
    .flat()
  if (console !== undefined) passing.push(...readableFor(console))
  if (headerValue(passing, "x-request-id") === undefined) passing.push("x-request-id", requestId)
  // Makes an nginx in front of us pass events on at once.
  if (isEventStream(headers) && headerValue(passing, "x-accel-buffering") === undefined) {
    passing.push("x-accel-buffering", "no")
  }
  return passing
}

/** An agent must not replace the session of the console, which is a cookie of the same host. */
const isRefused = (name: string, value: string, isForConsole: boolean): boolean =>
  (name === "set-cookie" && isSessionCookie(value)) || (isForConsole && name.startsWith("access-control-"))

const readableFor = (origin: string): string[] => [
  ...["access-control-allow-origin", origin, "access-control-expose-headers", consoleRule.exposed.join(",")],
  ...["vary", "origin"],
]

/** For pages of the console, at every route. They send no cookies. */
export const consoleRule: PreflightRule = {
  ...openToAll,
  exposed: [...openToAll.exposed, "retry-after", "x-revision-id"],
}

const pairsOf = (headers: readonly string[]): (readonly [name: string, value: string])[] =>
  headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? ""] as const] : []))

export const isEventStream = (headers: readonly string[]): boolean =>
  /^text\/event-stream(?:\s*;|$)/i.test(headerValue(headers, "content-type") ?? "")

/** Keeps a caller's request id when it is fit for a log line. @param fresh  creates a new one */
export function requestIdOf(headers: HeaderLists, fresh: () => string): string {
  const [given = ""] = headers["x-request-id"] ?? []
  return /^[\w.:-]{1,128}$/.test(given) ? given : fresh()
}
