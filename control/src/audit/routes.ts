/** HTTP that reads the audit log. Entries are written together with the changes they record. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { listAudit, verifyAudit } from "./operations.js"
import { auditQuery, auditReply, renderEntry, verificationReply } from "./schema.js"

export function addAuditRoutes(api: Api, { db }: { db: Db }): void {
  addRoute(api, {
    method: "get",
    path: "/v2/audit-log",
    summary: "Lists who changed what in the workspace, newest first.",
    query: auditQuery,
    responses: { 200: { description: "a page of entries", schema: auditReply } },
    handle: async ({ c, query }) => {
      const filter = {
        workspaceId: c.get("caller").workspaceId,
        actor: query.actor,
        action: query.action,
        resourceType: query.resource_type,
        resourceId: query.resource_id,
        since: query.since,
        until: query.until,
      }
      const { entries, nextCursor } = await listAudit(db, filter, { cursor: query.cursor, limit: query.limit ?? 20 })
      return c.json({ resources: entries.map(renderEntry), next_cursor: nextCursor })
    },
  })
  addRoute(api, {
    method: "get",
    path: "/v2/audit-log/verification",
    summary: "Verifies the chain of hashes: reports whether an entry was changed or removed.",
    responses: { 200: { description: "the result of the verification", schema: verificationReply } },
    handle: async ({ c }) => {
      const state = await verifyAudit(db, c.get("caller").workspaceId)
      return c.json({ valid: state.broken_seq === null, ...state })
    },
  })
}
