/** HTTP for the tokens of a listener. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { recordCreated } from "../audit/current-write.js"
import { text, uuid } from "../http/fields.js"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import type { ListenerToken } from "./token.js"
import { createToken, listTokens, revokeToken } from "./token-operations.js"

interface TokenRoutes {
  readonly db: Database
  readonly log: Log
}

const path = "/v2/listeners/{listener_id}/tokens"
const params = z.object({ listener_id: uuid })
const notFound = { 404: { description: "the workspace has no such listener" } } as const

const tokenFields = { name: text.min(1).max(255) }

const tokenReply = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().openapi({ description: "the token's first characters" }),
    is_used: z.boolean().openapi({ description: "whether an installation has called with it; no other one can" }),
    created_at: z.iso.datetime(),
    revoked_at: z.iso.datetime().nullable(),
  })
  .openapi("ListenerToken")

const render = (row: ListenerToken): z.input<typeof tokenReply> => ({
  id: row.token_id,
  name: row.name,
  prefix: row.prefix,
  is_used: row.home_id !== null,
  created_at: row.created_at.toISOString(),
  revoked_at: row.revoked_at?.toISOString() ?? null,
})

export function addListenerTokenRoutes(api: Api, options: TokenRoutes): void {
  addCreate(api, options)
  addList(api, options)
  addRevoke(api, options)
}

/** No `Idempotency-Key` here: to repeat the reply, the token itself would have to be stored. */
function addCreate(api: Api, { db, log }: TokenRoutes): void {
  addRoute(api, {
    method: "post",
    path,
    summary:
      "Creates a token with which an installation carries out the listener's deployments; it is shown only once.",
    params,
    body: z.object(tokenFields),
    responses: {
      201: {
        description: "the token",
        schema: tokenReply.extend({
          token: z.string().openapi({ description: "the token itself; it is not shown again" }),
        }),
      },
      ...notFound,
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, params: { listener_id: listenerId }, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, tokenFields))
      const { token, clearToken } = await db.transaction(async (tx) => {
        const created = await createToken(tx, { workspaceId, listenerId }, body.name)
        recordCreated(render(created.token))
        return created
      })
      log.info({ listener_id: listenerId, token_id: token.token_id }, "listener token created")
      return c.json({ ...render(token), token: clearToken }, 201)
    },
  })
}

function addList(api: Api, { db }: TokenRoutes): void {
  addRoute(api, {
    method: "get",
    path,
    summary: "Lists a listener's tokens, including revoked ones, oldest first.",
    params,
    responses: {
      200: { description: "all of them", schema: z.object({ resources: z.array(tokenReply) }) },
      ...notFound,
    },
    handle: async ({ c, params: { listener_id: listenerId } }) => {
      const tokens = await listTokens(db, { workspaceId: c.get("caller").workspaceId, listenerId })
      return c.json({ resources: tokens.map(render) })
    },
  })
}

function addRevoke(api: Api, { db, log }: TokenRoutes): void {
  addRoute(api, {
    method: "delete",
    path: `${path}/{token_id}`,
    summary: "Revokes a listener's token: later calls with it get 401. Its agents go on.",
    params: z.object({ listener_id: uuid, token_id: uuid }),
    responses: {
      204: { description: "revoked" },
      404: { description: "the workspace has no such listener, or that one no such valid token" },
    },
    handle: async ({ c, params: { listener_id: listenerId, token_id: tokenId } }) => {
      const { workspaceId } = c.get("caller")
      await db.transaction((tx) => revokeToken(tx, { workspaceId, listenerId, tokenId }))
      log.info({ listener_id: listenerId, token_id: tokenId }, "listener token revoked")
      return c.body(null, 204)
    },
  })
}
