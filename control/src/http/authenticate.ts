/** Identifies the caller and checks the key's rights, before any route of the API runs. */
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

export interface IdentifyOptions {
  readonly db: Db
  readonly trustedProxies: BlockList
  /** How many wrong keys an address may try in a minute before it gets 429. */
  readonly keyFailuresPerMinute: number
}

/** Identifies the caller by the request's key. @throws Unauthenticated | Forbidden | TooManyRequests */
export type Identify = (c: Context, tenantId: string | undefined) => Promise<Caller>

/** All users of the returned function share one count of wrong keys (K7). */
export function identifyBy({ db, trustedProxies, keyFailuresPerMinute }: IdentifyOptions): Identify {
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
 * For rights that the table of scopes cannot express, such as those for a field of a body.
 * @throws Forbidden  the caller's key lacks this scope
 */
export function requireScope(c: Context, needed: Scope): void {
  const { scopes } = c.get("caller")
  if (mayDo(scopes, needed)) return
  throw new Forbidden(`This key has the scope ${scopes.join(", ")}: this request requires ${needed}`, "scope_missing")
}

/** @param what  what the request is about, for the message @throws Forbidden  the key belongs to a workspace */
export function requireOperator(c: Context, what: string): void {
  if (c.get("caller").isOperator) return
  const words = `${what}: this requires a key of the installation (org_api_key in credentials.json)`
  throw new Forbidden(words, "operator_required")
}

/** A valid key is never refused because of wrong ones from its address. */
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

/** The caller's name in revisions and logs. */
export const actorOf = ({ apiKeyId }: Caller): string => `api_key:${apiKeyId}`
