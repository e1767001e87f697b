/** Finds out who asks, before any route of the API runs. */
import type { Db } from "@superstep/toolkit/db/database"
import type { MiddlewareHandler } from "hono"
import { findCaller } from "../workspaces/operations.js"
import type { Caller } from "../workspaces/workspace.js"

declare module "hono" {
  interface ContextVariableMap {
    /** Set for every route below /v1 and /v2. */
    caller: Caller
  }
}

export const authenticate =
  (db: Db): MiddlewareHandler =>
  async (c, next) => {
    c.set("caller", await findCaller(db, c.req.header("x-api-key"), c.req.header("x-tenant-id")))
    await next()
  }
