/** HTTP for the tokens with which the console calls an agent. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { issueAgentToken } from "../console/agent-tokens.js"
import type { MasterKey } from "../secrets/seal.js"
import { notFound, onePath } from "./answer.js"
import { publicUrl } from "./deployment.js"
import { findDeployment } from "./operations.js"

interface TokenRoutes {
  readonly db: Database
  readonly key: MasterKey
  /** The public address of the edge, without a path. */
  readonly agentsUrl: string
}

const tokenReply = z.object({
  token: z.string().openapi({ description: "sent to the agent as x-api-key; works for this deployment only" }),
  url: z.url().openapi({ description: "the agent's address" }),
  scopes: z
    .array(z.enum(["read", "run", "approve"]))
    .openapi({ description: "what the caller's key or role may do at an agent" }),
  expires_at: z.iso.datetime().openapi({ description: "in 10 minutes; earlier when the caller's key is revoked" }),
})

export function addAgentTokenRoute(api: Api, { db, key, agentsUrl }: TokenRoutes): void {
  addRoute(api, {
    method: "post",
    path: `${onePath.path}/agent-token`,
    summary: "Issues a short-lived token for the deployment's agent, for pages that must not have the API key.",
    params: onePath.params,
    responses: {
      200: { description: "the token", schema: tokenReply },
      ...notFound,
      409: { description: "its agents are at a listener" },
    },
    handle: async ({ c, params: { deployment_id: id } }) => {
      const caller = c.get("caller")
      const { route_name: name, listener } = await findDeployment(db, caller.workspaceId, id)
      if (listener) {
        const words = `its agents are at the listener ${listener.compute_id}: open the console of that installation`
        throw new Conflict(words, "at_listener")
      }
      const { token, scopes, expiresAt } = await issueAgentToken({ db, key, now: new Date() }, caller, id.toLowerCase())
      c.header("cache-control", "no-store")
      return c.json({ token, url: publicUrl(agentsUrl, name), scopes, expires_at: expiresAt })
    },
  })
}
