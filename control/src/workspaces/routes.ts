/** HTTP for a workspace's API keys. Only the `superstep` command creates and revokes keys of the installation. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { actorText } from "../audit/audit-entry.js"
import { recordCreated } from "../audit/current-write.js"
import { uuid } from "../http/fields.js"
import { ignoredFields, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
import { createApiKey, listApiKeys, revokeApiKey } from "./operations.js"
import { createdKeyReply, keyBody, keyFields, keyReply, renderKey } from "./schema.js"

interface KeyRoutes {
  readonly db: Database
  readonly log: Log
  /** Gives the edge the rights of all keys as they are stored now. */
  readonly publishRoutes: () => Promise<void>
}

/** So that the caller's next request at an agent meets an edge that knows. */
const publish = ({ publishRoutes, log }: KeyRoutes): Promise<void> =>
  publishRoutes().catch((err: unknown) =>
    log.warn({ err }, "the edge did not take the rights of keys; it is tried again in the background"),
  )

export function addKeyRoutes(api: Api, options: KeyRoutes): void {
  addList(api, options)
  addCreate(api, options)
  addRevoke(api, options)
}

function addList(api: Api, { db }: KeyRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/api-keys",
    summary: "Lists the workspace's API keys, including revoked ones, oldest first.",
    query: z.object(pageQuery),
    responses: { 200: { description: "a page of keys", schema: pageReply(keyReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const keys = await listApiKeys(db, c.get("caller").workspaceId)
      const resources = keys.slice(page.offset, page.offset + page.limit).map(renderKey)
      return sendPage(c, page, { resources, total: keys.length })
    },
  })
}

/** No `Idempotency-Key` here: to repeat the reply, the key itself would have to be stored. */
function addCreate(api: Api, options: KeyRoutes): void {
  const { db, log } = options
  addRoute(api, {
    method: "post",
    path: "/v2/api-keys",
    summary: "Creates an API key of the workspace; the key is shown only once.",
    body: keyBody,
    responses: {
      201: { description: "the key", schema: createdKeyReply },
      409: { description: "the workspace has as many keys in force as it may have" },
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, body, bodyText }) => {
      setIgnoredFieldsHeader(c, ignoredFields(JSON.parse(bodyText), keyFields))
      const { workspaceId, actor } = c.get("caller")
      const wanted = {
        workspaceId,
        name: body.name,
        scopes: body.scopes ?? undefined,
        expiresAt: body.expires_at ? new Date(body.expires_at) : undefined,
        createdBy: actorText(actor),
      }
      const { key, clearKey } = await db.transaction(async (tx) => {
        const created = await createApiKey(tx, wanted)
        recordCreated(renderKey(created.key))
        return created
      })
      log.info({ api_key_id: key.api_key_id }, "API key created")
      await publish(options)
      return c.json({ ...renderKey(key), key: clearKey }, 201)
    },
  })
}

function addRevoke(api: Api, options: KeyRoutes): void {
  const { db, log } = options
  addRoute(api, {
    method: "delete",
    path: "/v2/api-keys/{api_key_id}",
    summary: "Revokes an API key: later requests with it get 401.",
    params: z.object({ api_key_id: uuid }),
    responses: {
      204: { description: "revoked" },
      404: { description: "the workspace has no such key, or it is revoked already" },
    },
    handle: async ({ c, params }) => {
      const { workspaceId } = c.get("caller")
      await db.transaction((tx) => revokeApiKey(tx, params.api_key_id, workspaceId))
      log.info({ api_key_id: params.api_key_id }, "API key revoked")
      await publish(options)
      return c.body(null, 204)
    },
  })
}
