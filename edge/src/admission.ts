/** Decides whether a request is admitted, and to which route, before anything is sent. Pure. */
import type { Person } from "@superstep/protocol/http/person"
import { type Credential, credentialOf, rightOf } from "./authorise.js"
import type { HeaderLists } from "./headers.js"
import { onlyReads } from "./reads.js"
import {
  malformed,
  noSuchPath,
  notReachable,
  type Refusal,
  readOnlyKey,
  tooLarge,
  unauthenticated,
  unknownRight,
} from "./refusal.js"
import type { Route, RoutingTable } from "./table.js"
import { hasDotSegment, hostOf, isHealthCheck, isInternal, parseTarget, type Target, targetAtHost } from "./target.js"

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: HeaderLists
  /** The request asks for a WebSocket. */
  readonly isUpgrade?: boolean
}

/**
 * health, preflight: anybody may send them, so they never wait for a deployment, wake it or keep it awake.
 * use: whatever a caller with a key sends.
 */
export type RequestKind = "health" | "preflight" | "use"

export interface Admitted {
  readonly route: Route
  readonly target: Target
  readonly kind: RequestKind
  /** The hash of the caller's key; undefined for what needs none. */
  readonly keyHash: Buffer | undefined
  /** The caller has an agent token, not a key, and may run: the console of a person who may (decision 63). */
  readonly isConsole: boolean
  /** Whose token it is: the unit is told (decision 94). */
  readonly person: Person | undefined
  /** False for a person who may run, but not answer what the agent asks: the unit refuses that. */
  readonly mayApprove: boolean
}

export type Admission = Admitted | { readonly refusal: Refusal }

/** @param bodyLimitBytes  largest body that is admitted, by its `Content-Length` */
export function admit(asked: Asked, table: RoutingTable, bodyLimitBytes: number): Admission {
  // Most request-smuggling tricks start with two Host headers (RFC 9112 §3.2 asks for a 400).
  if ((asked.headers.host?.length ?? 0) > 1) return { refusal: malformed("the request has more than one Host header") }
  const { route, target } = locate(asked, table)
  if (!target || !route) return { refusal: notReachable(target?.prefix ?? asked.url) }
  if (hasDotSegment(target.path)) return { refusal: malformed("the path contains a segment . or ..: resolve it first") }
  const kind = kindOf(asked, target)
  const credential = kind === "use" ? credentialOfCaller(asked.headers, route) : undefined
  const right = kind === "use" ? credential && rightOf(credential.keyHash, route) : "run"
  if (!right) return { refusal: unauthenticated }
  if (isInternal(target.path)) return { refusal: noSuchPath(target.path) }
  const mayRun = right === "run" || right === "run without approval"
  if (!mayRun && !onlyReads({ ...asked, path: target.path })) {
    return { refusal: right === "read" ? readOnlyKey : unknownRight }
  }
  if (Number(asked.headers["content-length"]?.[0] ?? 0) > bodyLimitBytes) return { refusal: tooLarge(bodyLimitBytes) }
  return {
    route,
    target,
    kind,
    keyHash: credential?.keyHash,
    isConsole: mayRun && credential?.isToken === true,
    person: credential?.person,
    // A key that only reads is no person: its unit, of an older release perhaps, is told nothing new.
    mayApprove: right === "run" || (right !== "run without approval" && credential?.person === undefined),
  }
}

/** At a host name of a deployment only that one is reachable, also below `/d/`: pages there share an origin. */
function locate(
  { url, headers }: Asked,
  table: RoutingTable,
): { route?: Route | undefined; target?: Target | undefined } {
  const atHost = table.findByHost(hostOf(url, headers.host?.[0]))
  if (atHost) return { route: atHost, target: targetAtHost(url, atHost.name) }
  const target = parseTarget(url)
  return { route: target && table.find(target.name), target }
}

function kindOf({ method, headers, isUpgrade }: Asked, { path }: Target): RequestKind {
  if (isUpgrade) return "use"
  if (isHealthCheck(method, path)) return "health"
  // A preflight cannot carry a key: browsers do not send it.
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined ? "preflight" : "use"
}

function credentialOfCaller(headers: HeaderLists, route: Route): Credential | undefined {
  const [key, ...more] = headers["x-api-key"] ?? []
  return key === undefined || more.length > 0 ? undefined : credentialOf(key, route)
}
