/** HTTP for the sessions of people and keys: each caller sees and ends their own, an admin those of the workspace. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { actorText } from "../audit/audit-entry.js"
import { uuid } from "../http/fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
import { endListedSession, listSessions } from "./operations.js"
import { listedSession, renderListed } from "./schema.js"

export function addSessionListRoutes(api: Api, { db, log }: { readonly db: Database; readonly log: Log }): void {
  addRoute(api, {
    method: "get",
    path: "/v2/console/sessions",
    summary:
      "Lists the caller's sessions of the console; an admin also gets those of the workspace's members and keys.",
    query: z.object(pageQuery),
    responses: {
      200: { description: "a page of sessions, the most recently used first", schema: pageReply(listedSession) },
    },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const caller = c.get("caller")
      const sessions = await listSessions(db, caller)
      const resources = sessions
        .slice(page.offset, page.offset + page.limit)
        .map((session) => renderListed(session, caller))
      return sendPage(c, page, { resources, total: sessions.length })
    },
  })
  addRoute(api, {
    method: "delete",
    path: "/v2/console/sessions/{session_id}",
    summary: "Ends a session at once: one of the caller's own, or as an admin one of the workspace.",
    params: z.object({ session_id: uuid }),
    responses: {
      204: { description: "ended" },
      404: { description: "the caller may end no such session, or it has ended" },
    },
    handle: async ({ c, params }) => {
      const caller = c.get("caller")
      await db.transaction((tx) => endListedSession(tx, caller, params.session_id.toLowerCase()))
      log.info({ actor: actorText(caller.actor), session_id: params.session_id }, "session of the console ended")
      return c.body(null, 204)
    },
  })
}
