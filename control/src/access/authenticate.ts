/** Identifies the caller and checks the key's rights, before any route of the API runs. */
import type { BlockList } from "node:net"
import type { Db } from "@superstep/toolkit/db/database"
import { Forbidden, Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Context, MiddlewareHandler } from "hono"
import { actorText } from "../audit/audit-entry.js"
import { findSessionCaller, recordSessionUse } from "../console/operations.js"
import { requireOwnPage } from "../console/own-origins.js"
import { oneSessionId } from "../console/session.js"
import { askedPage } from "../http/asked-page.js"
import { askedRoute } from "../http/asked-route.js"
import type { CountFailures } from "../http/count-failures.js"
import { findCaller } from "../workspaces/operations.js"
import { type Caller, mayDo, type Scope } from "../workspaces/workspace.js"
import { scopeOf } from "./scopes.js"

declare module "hono" {
  interface ContextVariableMap {
    /** Set for every route below /v1 and /v2. */
    caller: Caller
    /** For replies that last: throws when a new request of this caller would be refused. */
    checkCaller: () => Promise<unknown>
  }
}

export interface IdentifyOptions {
  readonly db: Db
  readonly trustedProxies: BlockList
  readonly counted: CountFailures
  /** Where the console is served: its pages send a session in place of a key. */
  readonly consoleOrigins: readonly string[]
}

/**
 * Identifies the caller by the request's key or session.
 * @param repeats  `again`: for a request that was identified before, and lasts
 * @throws Unauthenticated | Forbidden | TooManyRequests
 */
export type Identify = (c: Context, tenantId: string | undefined, repeats?: "again") => Promise<Caller>

export function identifyBy({ db, trustedProxies, counted, consoleOrigins }: IdentifyOptions): Identify {
  return async (c, tenantId, repeats) => {
    const key = c.req.header("x-api-key")
    if (key) return counted(c, () => findCaller(db, key, tenantId))
    const id = oneSessionId(c.req.header("cookie"))
    if (id === undefined) throw new Unauthenticated("Invalid API key")
    requireOwnPage(consoleOrigins, askedPage(c, trustedProxies))
    const caller = await findSessionCaller(db, id, tenantId)
    // Nobody uses a session whose page only listens: it ends like any that is idle (C1), and its streams with it.
    if (repeats !== "again") await recordSessionUse(db, id)
    return caller
  }
}

export function authenticate(identify: Identify): MiddlewareHandler {
  return async (c, next) => {
    const tenantId = c.req.header("x-tenant-id")
    c.set("caller", await identify(c, tenantId))
    c.set("checkCaller", () => identify(c, tenantId, "again"))
    // What a person has read must not stay in the browser after they have signed out.
    if (!c.req.header("x-api-key")) c.header("cache-control", "no-store")
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
  const { scopes, actor } = c.get("caller")
  if (mayDo(scopes, needed)) return
  throw new Forbidden(
    `This ${"personId" in actor ? "account" : "key"} has the scope ${scopes.join(", ")}: this request requires ${needed}`,
    "scope_missing",
  )
}

/** @param what  what the request is about, for the message @throws Forbidden  the key belongs to a workspace */
export function requireOperator(c: Context, what: string): void {
  if (c.get("caller").isOperator) return
  const words = `${what}: this requires a key of the installation (org_api_key in credentials.json)`
  throw new Forbidden(words, "operator_required")
}

/** The caller's name in revisions and logs. */
export const actorOf = ({ actor }: Caller): string => actorText(actor)
