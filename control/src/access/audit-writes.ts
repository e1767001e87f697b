/** Makes each writing request one write of the audit log (audit/README.md, A1). */
import type { BlockList } from "node:net"
import type { Db } from "@superstep/toolkit/db/database"
import type { Context, MiddlewareHandler } from "hono"
import { kindOf } from "../audit/audit-entry.js"
import { asWrite, type CurrentWrite } from "../audit/current-write.js"
import { recordAfterwards } from "../audit/operations.js"
import { type AskedRoute, askedRoute } from "../http/asked-route.js"
import { callerAddress } from "../http/caller-address.js"
import { scopeOf } from "./scopes.js"

export const auditWrites =
  ({ db, trustedProxies }: { db: Db; trustedProxies: BlockList }): MiddlewareHandler =>
  async (c, next) => {
    const route = askedRoute(c)
    if (!route || !c.get("caller") || !isAudited(c, route)) return next()
    const write = writeOf(c, route, callerAddress(c, trustedProxies))
    return asWrite(write, async () => {
      await next()
      if (c.res.status < 400) await recordAfterwards(db, write)
    })
  }

/** Showing a secret in clear text is audited too (CP-D5). */
const isAudited = (c: Context, { method, path }: AskedRoute): boolean =>
  method === "GET" ? c.req.query("reveal") === "true" : method === "DELETE" || scopeOf(method, path) !== "read"

function writeOf(c: Context, { method, path, params }: AskedRoute, ip: string | undefined): CurrentWrite {
  const { workspaceId, actor } = c.get("caller")
  const kind = kindOf(path)
  return {
    workspaceId,
    actor,
    ip,
    action: `${method} ${path}`,
    path: c.req.path,
    requestId: c.get("requestId"),
    kind,
    resourceId: kind && (params[kind.key] ?? params.project_id),
    resourceName: undefined,
    changedToo: [],
    isRecorded: false,
    hasNoEffect: false,
  }
}
