/** The caller of a request. A middleware identifies it before any route runs. */
import type { Context, MiddlewareHandler } from "hono"
import type { Caller } from "../auth/caller.js"

declare module "hono" {
  interface ContextVariableMap {
    caller: Caller
  }
}

/** Sets the caller of each request. @param identify  throws `Unauthenticated`, or the error of the project's handler */
export const identifyCaller =
  (identify: (c: Context) => Promise<Caller> | Caller): MiddlewareHandler =>
  async (c, next) => {
    c.set("caller", await identify(c))
    await next()
  }

/** The caller of this request. */
export const callerOf = (c: Context): Caller => c.get("caller")
