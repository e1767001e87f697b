/** HTTP for webhooks. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { requireOperator } from "../access/authenticate.js"
import { recordCreated } from "../audit/current-write.js"
import { uuid } from "../http/fields.js"
import { ignoredFields, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
import { answerOnce } from "../idempotency/idempotency.js"
import type { MasterKey } from "../secrets/seal.js"
import type { AddressRules } from "./address-rules.js"
import { createWebhook, deleteWebhook, findWebhook, listDeliveries, listWebhooks, replay } from "./operations.js"
import {
  createdWebhookReply,
  deliveriesQuery,
  deliveriesReply,
  renderDelivery,
  renderWebhook,
  replayBody,
  replayReply,
  webhookBody,
  webhookFields,
  webhookReply,
} from "./schema.js"

export interface WebhookRoutes {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
  /** Which addresses webhooks may call. */
  readonly webhookRules: AddressRules
}

const onePath = "/v2/webhooks/{webhook_id}"
const params = z.object({ webhook_id: uuid })
const notFound = { 404: { description: "the workspace has no such webhook" } } as const

export function addOutgoingWebhookRoutes(api: Api, options: WebhookRoutes): void {
  addReads(api, options)
  addCreate(api, options)
  addDelete(api, options)
  addDeliveries(api, options)
  addReplay(api, options)
}

function addReads(api: Api, { db }: WebhookRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/webhooks",
    summary: "Lists the workspace's webhooks, newest first.",
    query: z.object(pageQuery),
    responses: { 200: { description: "a page of webhooks", schema: pageReply(webhookReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const { rows, total } = await listWebhooks(db, c.get("caller"), page)
      return sendPage(c, page, { resources: rows.map(renderWebhook), total })
    },
  })
  addRoute(api, {
    method: "get",
    path: onePath,
    summary: "Reads a webhook.",
    params,
    responses: { 200: { description: "the webhook", schema: webhookReply }, ...notFound },
    handle: async ({ c, params: { webhook_id: id } }) =>
      c.json(renderWebhook(await findWebhook(db, c.get("caller"), id))),
  })
}

/** No `Idempotency-Key` here: to repeat the reply, the signing secret would have to be stored in clear text. */
function addCreate(api: Api, { db, log, key, webhookRules: rules }: WebhookRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v2/webhooks",
    summary:
      "Creates a webhook, which sends the workspace's events to an address; the signing secret is shown only once.",
    body: webhookBody,
    responses: {
      201: { description: "the webhook", schema: createdWebhookReply },
      403: { description: "all_workspaces requires a key of the installation" },
      409: { description: "the workspace has the maximum number of webhooks" },
      422: { description: "the body is malformed, or the address may not be called" },
    },
    handle: async ({ c, body, bodyText }) => {
      const allWorkspaces = body.all_workspaces ?? false
      if (allWorkspaces) requireOperator(c, "events of all workspaces")
      setIgnoredFieldsHeader(c, ignoredFields(JSON.parse(bodyText), webhookFields))
      const { url, description = null, event_types: eventTypes } = body
      const wanted = { url, description, eventTypes: eventTypes ?? [], allWorkspaces }
      const { webhook, signingSecret } = await db.transaction(async (tx) => {
        const created = await createWebhook(tx, { key, rules }, c.get("caller"), wanted)
        recordCreated(renderWebhook(created.webhook))
        return created
      })
      log.info({ webhook_id: webhook.webhook_id }, "webhook created")
      return c.json({ ...renderWebhook(webhook), signing_secret: signingSecret }, 201)
    },
  })
}

function addDelete(api: Api, { db, log }: WebhookRoutes): void {
  addRoute(api, {
    method: "delete",
    path: onePath,
    summary: "Deletes a webhook and all its deliveries.",
    params,
    responses: { 204: { description: "forgotten" }, ...notFound },
    handle: async ({ c, params: { webhook_id: id } }) => {
      await db.transaction((tx) => deleteWebhook(tx, c.get("caller"), id))
      log.info({ webhook_id: id }, "webhook deleted")
      return c.body(null, 204)
    },
  })
}

function addDeliveries(api: Api, { db }: WebhookRoutes): void {
  addRoute(api, {
    method: "get",
    path: `${onePath}/deliveries`,
    summary: "Lists the deliveries of a webhook with their results, newest first.",
    params,
    query: deliveriesQuery,
    responses: { 200: { description: "a page of deliveries", schema: deliveriesReply }, ...notFound },
    handle: async ({ c, params: { webhook_id: webhookId }, query }) => {
      const ids = { ...c.get("caller"), webhookId }
      const asked = { cursor: query.cursor, limit: query.limit ?? 20, state: query.state }
      const { deliveries, nextCursor } = await listDeliveries(db, ids, asked)
      return c.json({ resources: deliveries.map(renderDelivery), next_cursor: nextCursor })
    },
  })
}

function addReplay(api: Api, { db, log }: WebhookRoutes): void {
  addRoute(api, {
    method: "post",
    path: `${onePath}/replay`,
    summary: "Sends past events to a webhook again: given ones, or all of a time range.",
    params,
    body: replayBody,
    responses: {
      202: { description: "the deliveries are due", schema: replayReply },
      ...notFound,
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, params: { webhook_id: webhookId }, body, bodyText }) => {
      const { workspaceId, isOperator } = c.get("caller")
      const range = {
        eventIds: body.event_ids ?? undefined,
        since: body.since ? new Date(body.since) : undefined,
        until: body.until ? new Date(body.until) : undefined,
      }
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const deliveries = await replay(tx, { workspaceId, isOperator, webhookId }, range)
        const facts = { webhook_id: webhookId, deliveries }
        return { status: 202, body: { deliveries }, committed: () => log.info(facts, "webhook replayed") }
      })
    },
  })
}
