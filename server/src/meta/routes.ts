/** Routes about the server itself (agent-server-api §3). */
import type { Database } from "@superstep/toolkit/db/database"
import { pingDatabase } from "@superstep/toolkit/db/ping"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { queryFlag } from "../http/parameters.js"

export function addMetaRoutes(api: Api, { db, version }: { db: Database; version: string }): void {
  const ok = z.object({ ok: z.boolean() })
  addRoute(
    api,
    {
      method: "get",
      path: "/ok",
      summary: "Tell that the server answers",
      tags: ["System"],
      query: z.object({ check_db: queryFlag }),
      responses: { 200: { description: "It does", schema: ok }, 503: { description: "The database does not answer" } },
    },
    async ({ c, query }) => {
      if (query.check_db) await pingDatabase(db)
      return c.json({ ok: true })
    },
  )
  addRoute(
    api,
    {
      method: "get",
      path: "/info",
      summary: "Tell what the server is and can do",
      tags: ["System"],
      responses: { 200: { description: "Version and flags", schema: z.record(z.string(), z.unknown()) } },
    },
    // `context` names the kind of server for LangGraph's clients; a flag is true only for what is there.
    ({ c }) =>
      c.json({
        version,
        context: "js",
        flags: { assistants: true, crons: true, langsmith: false, langsmith_tracing_replicas: false },
      }),
  )
}
