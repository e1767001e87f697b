/** HTTP for listeners; their tokens are in `token-routes.ts`, the calls of their installations in `exchange-routes.ts`. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { uuid } from "../http/fields.js"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
import { answerOnce } from "../idempotency/idempotency.js"
import { changeListener, createListener, deleteListener, findListener, listListeners } from "./operations.js"
import {
  listenerBody,
  listenerFields,
  listenerPatch,
  listenerPatchFields,
  listenerReply,
  renderListener,
} from "./schema.js"

interface ListenerRoutes {
  readonly db: Database
  readonly log: Log
}

const onePath = { path: "/v2/listeners/{listener_id}", params: z.object({ listener_id: uuid }) } as const
const notFound = { 404: { description: "the workspace has no such listener" } } as const
const oneReply = { description: "the listener", schema: listenerReply } as const

export function addListenerRoutes(api: Api, options: ListenerRoutes): void {
  addCreate(api, options)
  addReads(api, options)
  addChange(api, options)
  addDelete(api, options)
}

function addCreate(api: Api, { db, log }: ListenerRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v2/listeners",
    summary: "Registers a listener; a workspace has at most one for each cluster.",
    body: listenerBody,
    responses: {
      201: oneReply,
      409: { description: "the workspace already has a listener for this cluster, whose id is in `conflicting_id`" },
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, listenerFields))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const { compute_type: computeType, compute_id: computeId, compute_config: computeConfig } = body
        const row = await createListener(tx, workspaceId, { computeType, computeId, computeConfig })
        return {
          status: 201,
          body: renderListener(row),
          committed: () => log.info({ listener_id: row.listener_id }, "listener registered"),
        }
      })
    },
  })
}

function addReads(api: Api, { db }: ListenerRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/listeners",
    summary: "Lists the workspace's listeners, newest first.",
    query: z.object(pageQuery),
    responses: { 200: { description: "a page of listeners", schema: pageReply(listenerReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const { rows, total } = await listListeners(db, c.get("caller").workspaceId, page)
      return sendPage(c, page, { resources: rows.map(renderListener), total })
    },
  })
  addRoute(api, {
    method: "get",
    ...onePath,
    summary: "Reads a listener.",
    responses: { 200: oneReply, ...notFound },
    handle: async ({ c, params }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, listenerId: params.listener_id }
      return c.json(renderListener(await findListener(db, ids)))
    },
  })
}

function addChange(api: Api, { db, log }: ListenerRoutes): void {
  addRoute(api, {
    method: "patch",
    ...onePath,
    summary: "Changes a listener's version or namespaces; null keeps the present value.",
    body: listenerPatch,
    responses: { 200: oneReply, ...notFound, 422: { description: "the body is malformed" } },
    handle: async ({ c, params, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, listenerPatchFields))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const change = { version: body.version ?? null, computeConfig: body.compute_config ?? null }
        const row = await changeListener(tx, { workspaceId, listenerId: params.listener_id }, change)
        return {
          status: 200,
          body: renderListener(row),
          committed: () => log.info({ listener_id: row.listener_id }, "listener changed"),
        }
      })
    },
  })
}

function addDelete(api: Api, { db, log }: ListenerRoutes): void {
  addRoute(api, {
    method: "delete",
    ...onePath,
    summary: "Deletes a listener.",
    responses: {
      204: { description: "deleted, with its tokens" },
      ...notFound,
      409: { description: "it has deployments" },
    },
    handle: async ({ c, params }) => {
      await deleteListener(db, { workspaceId: c.get("caller").workspaceId, listenerId: params.listener_id })
      log.info({ listener_id: params.listener_id }, "listener deleted")
      return c.body(null, 204)
    },
  })
}
