/** HTTP for webhooks. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { noteCreated } from "../audit/current-write.js"
import { uuid } from "../http/fields.js"
import { answerOnce } from "../http/idempotency.js"
import { ignoredFields, tellIgnored } from "../http/ignored-fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
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
  /** Where webhooks may go. */
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
  addRoute(
    api,
    {
      method: "get",
      path: "/v2/webhooks",
      summary: "Lists the workspace's webhooks, newest first.",
      query: z.object(pageQuery),
      responses: { 200: { description: "a page of webhooks", schema: pageReply(webhookReply) } },
    },
    async ({ c, query }) => {
      const page = pageOf(query)
      const { rows, total } = await listWebhooks(db, c.get("caller").workspaceId, page)
      return sendPage(c, page, { resources: rows.map(renderWebhook), total })
    },
  )
  addRoute(
    api,
    {
      method: "get",
      path: onePath,
      summary: "Reads a webhook.",
      params,
      responses: { 200: { description: "the webhook", schema: webhookReply }, ...notFound },
    },
    async ({ c, params: { webhook_id: id } }) =>
      c.json(renderWebhook(await findWebhook(db, c.get("caller").workspaceId, id))),
  )
}

/** No `Idempotency-Key` here: to repeat the reply, the signing secret would have to be kept in clear. */
function addCreate(api: Api, { db, log, key, webhookRules: rules }: WebhookRoutes): void {
  addRoute(
    api,
    {
      method: "post",
      path: "/v2/webhooks",
      summary: "Tells an address of the workspace's events from now on; the signing secret is shown once.",
      body: webhookBody,
      responses: {
        201: { description: "the webhook", schema: createdWebhookReply },
        409: { description: "the workspace has as many as it may" },
        422: { description: "the body is malformed, or the address may not be called" },
      },
    },
    async ({ c, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      tellIgnored(c, ignoredFields(JSON.parse(bodyText), webhookFields))
      const wanted = { url: body.url, description: body.description ?? null, eventTypes: body.event_types ?? [] }
      const { webhook, signingSecret } = await db.transaction(async (tx) => {
        const created = await createWebhook(tx, { key, rules }, workspaceId, wanted)
        noteCreated(renderWebhook(created.webhook))
        return created
      })
      log.info({ webhook_id: webhook.webhook_id }, "webhook created")
      return c.json({ ...renderWebhook(webhook), signing_secret: signingSecret }, 201)
    },
  )
}

function addDelete(api: Api, { db, log }: WebhookRoutes): void {
  addRoute(
    api,
    {
      method: "delete",
      path: onePath,
      summary: "Forgets a webhook and all its deliveries.",
      params,
      responses: { 204: { description: "forgotten" }, ...notFound },
    },
    async ({ c, params: { webhook_id: id } }) => {
      const { workspaceId } = c.get("caller")
      await db.transaction((tx) => deleteWebhook(tx, workspaceId, id))
      log.info({ webhook_id: id }, "webhook deleted")
      return c.body(null, 204)
    },
  )
}

function addDeliveries(api: Api, { db }: WebhookRoutes): void {
  addRoute(
    api,
    {
      method: "get",
      path: `${onePath}/deliveries`,
      summary: "Lists what a webhook was or is to be told, newest first, and what came of it.",
      params,
      query: deliveriesQuery,
      responses: { 200: { description: "a page of deliveries", schema: deliveriesReply }, ...notFound },
    },
    async ({ c, params: { webhook_id: webhookId }, query }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, webhookId }
      const asked = { cursor: query.cursor, limit: query.limit ?? 20, state: query.state }
      const { deliveries, nextCursor } = await listDeliveries(db, ids, asked)
      return c.json({ resources: deliveries.map(renderDelivery), next_cursor: nextCursor })
    },
  )
}

function addReplay(api: Api, { db, log }: WebhookRoutes): void {
  addRoute(
    api,
    {
      method: "post",
      path: `${onePath}/replay`,
      summary: "Tells a webhook of past events once more: named ones, or all of a time.",
      params,
      body: replayBody,
      responses: {
        202: { description: "the calls are due", schema: replayReply },
        ...notFound,
        422: { description: "the body is malformed" },
      },
    },
    async ({ c, params: { webhook_id: webhookId }, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      const range = {
        eventIds: body.event_ids ?? undefined,
        since: body.since ? new Date(body.since) : undefined,
        until: body.until ? new Date(body.until) : undefined,
      }
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const deliveries = await replay(tx, { workspaceId, webhookId }, range)
        const facts = { webhook_id: webhookId, deliveries }
        return { status: 202, body: { deliveries }, committed: () => log.info(facts, "webhook replayed") }
      })
    },
  )
}
