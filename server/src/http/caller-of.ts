/** The caller of a request: found once, before any route, and read by the routes. */
import type { Context, MiddlewareHandler } from "hono"
import type { Caller } from "../auth/caller.js"

declare module "hono" {
  interface ContextVariableMap {
    caller: Caller
  }
}

/** Finds out who calls. @param identify  throws `Unauthenticated`, or what the project's handler raised */
export const identifyCaller =
  (identify: (c: Context) => Promise<Caller> | Caller): MiddlewareHandler =>
  async (c, next) => {
    c.set("caller", await identify(c))
    await next()
  }

/** Who sent this request. */
export const callerOf = (c: Context): Caller => c.get("caller")
