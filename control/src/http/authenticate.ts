/** Finds out who asks, and whether the key may do this, before any route of the API runs. */
import type { BlockList } from "node:net"
import type { Db } from "@superstep/toolkit/db/database"
import { Forbidden, TooManyRequests, Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Context, MiddlewareHandler } from "hono"
import { findCaller } from "../workspaces/operations.js"
import { type Caller, mayDo, type Scope } from "../workspaces/workspace.js"
import { askedRoute } from "./asked-route.js"
import { callerAddress } from "./caller-address.js"
import { type KeyFailures, keyFailures } from "./key-failures.js"
import { scopeOf } from "./scopes.js"

declare module "hono" {
  interface ContextVariableMap {
    /** Set for every route below /v1 and /v2. */
    caller: Caller
  }
}

export interface Entrance {
  readonly db: Db
  readonly trustedProxies: BlockList
  /** How many wrong keys an address may try in a minute before the answer is 429. */
  readonly keyFailuresPerMinute: number
}

/** Finds out who asks by the key of a request. @throws Unauthenticated | Forbidden | TooManyRequests */
export type Identify = (c: Context, tenantId: string | undefined) => Promise<Caller>

/** Wrong keys are counted over all who identify with the result (K7). */
export function identifyBy({ db, trustedProxies, keyFailuresPerMinute }: Entrance): Identify {
  const failures = keyFailures(keyFailuresPerMinute)
  return (c, tenantId) =>
    counted(failures, c, trustedProxies, () => findCaller(db, c.req.header("x-api-key"), tenantId))
}

export function authenticate(identify: Identify): MiddlewareHandler {
  return async (c, next) => {
    c.set("caller", await identify(c, c.req.header("x-tenant-id")))
    const route = askedRoute(c)
    if (route) requireScope(c, scopeOf(route.method, route.path))
    await next()
  }
}

/**
 * For what a route's table of scopes cannot tell, such as a field of a body.
 * @throws Forbidden  the caller's key has not this scope
 */
export function requireScope(c: Context, needed: Scope): void {
  const { scopes } = c.get("caller")
  if (mayDo(scopes, needed)) return
  throw new Forbidden(`This key has the scope ${scopes.join(", ")}: this takes ${needed}`, "scope_missing")
}

/** A right key is never refused for the wrong ones that came from its address. */
async function counted<T>(failures: KeyFailures, c: Context, proxies: BlockList, find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (!(error instanceof Unauthenticated) || !c.req.header("x-api-key")) throw error
    const waitMs = failures.count(callerAddress(c, proxies) ?? "this process")
    if (waitMs === undefined) throw error
    throw new TooManyRequests("too many requests with an invalid API key: wait, then send a valid one", waitMs)
  }
}

/** The caller as revisions and logs name them. */
export const actorOf = ({ apiKeyId }: Caller): string => `api_key:${apiKeyId}`
