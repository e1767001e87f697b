/** Which headers pass, which stop here and which are ours to say. Pure. */
import { isIPv6 } from "node:net"

/** Headers by lower-case name, each with all its lines: Node's `headersDistinct`. */
export type HeaderLists = Readonly<Record<string, readonly string[] | undefined>>
export type HeadersOut = Record<string, string | string[]>

/** They speak of one connection only (RFC 9110 §7.6.1); `http2-settings` belongs to an upgrade that we never make. */
const hopByHop = new Set([
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["proxy-authenticate", "proxy-authorization", "http2-settings"],
])

/** What a caller must not take away by listing it in `Connection`: where a body ends, and whom it is for. */
const keptAlways = new Set(["content-length", "host"])

/**
 * What only the edge may say to a unit. `x-api-key` ends here because it is the workspace's key: user code behind
 * the unit must never hold a credential of the platform (architecture D12). `expect` was answered by us already.
 */
const ours = new Set([
  ...["x-superstep-unit", "x-revision-id", "x-api-key", "expect", "x-request-id", "forwarded", "x-real-ip"],
  ...["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port", "x-forwarded-prefix"],
])

const nothing: ReadonlySet<string> = new Set()

/**
 * @param stopped  what stops here as well
 * @returns        the headers that belong to the message and not to the connection it came over
 */
export function endToEnd(headers: HeaderLists, stopped = nothing): HeadersOut {
  const listed = (headers.connection ?? []).flatMap((line) => line.split(",")).map((name) => name.trim().toLowerCase())
  const dropped = new Set(listed.filter((name) => !keptAlways.has(name)))
  const passing = Object.entries(headers).filter(
    ([name]) => !hopByHop.has(name) && !stopped.has(name) && !dropped.has(name),
  )
  return Object.fromEntries(passing.map(([name, lines = []]) => [name, oneOrMany(lines)]))
}

// Node's client takes no list for some headers, `host` among them.
const oneOrMany = ([first = "", ...more]: readonly string[]): string | string[] =>
  more.length === 0 ? first : [first, ...more]

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

/** The headers of a request as its unit gets them. */
export function requestHeaders(headers: HeaderLists, stamp: Stamp): HeadersOut {
  return Object.assign(endToEnd(headers, ours), framing(headers), forwarded(headers, stamp), {
    "x-request-id": stamp.requestId,
    "x-superstep-unit": stamp.unitToken,
  })
}

/**
 * A body that came in chunks goes on in chunks. It must be said: Node sends the body of a GET without either header
 * unframed, and the unit would read it as the next request.
 */
const framing = (headers: HeaderLists): HeadersOut =>
  headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" }

/** Tells whether a message has a body, by its headers (RFC 9112 §6.3). */
export const hasBody = (headers: HeaderLists): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"]?.[0] ?? 0) > 0

/** Who called, how and under which address: what we see ourselves, and more only on a trusted proxy's word. */
function forwarded(headers: HeaderLists, { caller, prefix }: Stamp): HeadersOut {
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
export function responseHeaders(headers: HeaderLists, requestId: string): HeadersOut {
  const passing = endToEnd(headers)
  if (passing["x-request-id"] === undefined) passing["x-request-id"] = requestId
  // Tells an nginx in front of us not to hold events back.
  if (isEventStream(headers)) passing["x-accel-buffering"] ??= "no"
  return passing
}

export const isEventStream = (headers: HeaderLists): boolean =>
  /^text\/event-stream(?:\s*;|$)/i.test(headers["content-type"]?.[0] ?? "")

/** Keeps a caller's request id when it is fit for a log line. @param fresh  makes a new one */
export function requestIdOf(headers: HeaderLists, fresh: () => string): string {
  const [told = ""] = headers["x-request-id"] ?? []
  return /^[\w.:-]{1,128}$/.test(told) ? told : fresh()
}

/** `::ffff:10.0.0.1`, an IPv4 caller on a socket that takes both, as the address people know. */
export const plainAddress = (address: string): string =>
  isIPv6(address) ? address.replace(/^::ffff:(?=\d+\.)/i, "") : address
