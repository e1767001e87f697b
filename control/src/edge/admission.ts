/** Decides what becomes of a request before anything is sent anywhere. Pure. */
import { type Right, rightOf } from "./authorise.js"
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
import { hasDotSegment, isHealthCheck, isInternal, parseTarget, type Target } from "./target.js"

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: HeaderLists
  /** It asks for a WebSocket. */
  readonly isUpgrade?: boolean
}

/**
 * health, preflight: anybody may send them, so they are held for nobody, wake nobody and keep nobody awake; use: whatever
 * a caller with a key sends.
 */
export type RequestKind = "health" | "preflight" | "use"

export interface Admitted {
  readonly route: Route
  readonly target: Target
  readonly kind: RequestKind
}

export type Admission = Admitted | { readonly refusal: Refusal }

/** @param bodyLimitBytes  largest body that is let through, by what `Content-Length` says of it */
export function admit(asked: Asked, table: RoutingTable, bodyLimitBytes: number): Admission {
  const target = parseTarget(asked.url)
  const route = target && table.find(target.name)
  if (!target || !route) return { refusal: notReachable(target?.prefix ?? asked.url) }
  // Two hosts are the beginning of most request-smuggling tricks (RFC 9112 §3.2 asks for a 400).
  if ((asked.headers.host?.length ?? 0) > 1) return { refusal: malformed("the header Host is there twice") }
  if (hasDotSegment(target.path)) return { refusal: malformed("the path has a segment . or ..: resolve it first") }
  const kind = kindOf(asked, target)
  const right = kind === "use" ? rightOfCaller(asked.headers, route) : "run"
  if (!right) return { refusal: unauthenticated }
  if (isInternal(target.path)) return { refusal: noSuchPath(target.path) }
  if (right !== "run" && !onlyReads({ ...asked, path: target.path })) {
    return { refusal: right === "read" ? readOnlyKey : unknownRight }
  }
  if (Number(asked.headers["content-length"]?.[0] ?? 0) > bodyLimitBytes) return { refusal: tooLarge(bodyLimitBytes) }
  return { route, target, kind }
}

function kindOf({ method, headers, isUpgrade }: Asked, { path }: Target): RequestKind {
  if (isUpgrade) return "use"
  if (isHealthCheck(method, path)) return "health"
  // It cannot carry a key, browsers see to that.
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined ? "preflight" : "use"
}

function rightOfCaller(headers: HeaderLists, route: Route): Right | undefined {
  const [key, ...more] = headers["x-api-key"] ?? []
  return key === undefined || more.length > 0 ? undefined : rightOf(key, route)
}
