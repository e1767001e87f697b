/** HTTP for deliveries, which need a signature in place of an API key, and for the settings of webhooks. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { optionalParameter, uuid } from "../http/fields.js"
import { ignoredFields, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { answerOnce } from "../idempotency/idempotency.js"
import { findIntegration } from "../integrations/operations.js"
import type { MasterKey } from "../secrets/seal.js"
import { type BodyRoom, createBodyRoom } from "./body-room.js"
import { findWebhook, removeWebhookSettings, setWebhook } from "./operations.js"
import { type Provider, providers } from "./push.js"
import { type OnPullRequest, type Receiver, receive } from "./receive.js"
import { deliveryReply, renderWebhook, webhookBody, webhookFields, webhookReply } from "./schema.js"

export const isDeliveryPath = (path: string): boolean =>
  /^(\/api-host)?\/v1\/integrations\/(github|gitlab|gitea|bitbucket)\/webhook$/.test(path)

/** Adds the routes of deliveries; call it before the routes that need a key. */
export function addDeliveryRoutes(api: Api, receiver: Receiver, onPullRequest: OnPullRequest): void {
  const room = createBodyRoom()
  for (const provider of providers) addDelivery(api, { provider, receiver, room, onPullRequest })
}

function addDelivery(
  api: Api,
  {
    provider,
    receiver,
    room,
    onPullRequest,
  }: { provider: Provider; receiver: Receiver; room: BodyRoom; onPullRequest: OnPullRequest },
): void {
  addRoute(api, {
    method: "post",
    path: `/v1/integrations/${provider}/webhook`,
    summary: `Receives a webhook of ${titles[provider]}; requires a valid signature and no API key.`,
    query: z.object({
      integration_id: optionalParameter(uuid).openapi({ description: "accept only this integration's secrets" }),
    }),
    responses: {
      200: { description: "nothing to do, with the reason; or a repeated delivery", schema: deliveryReply },
      202: { description: "revisions were created", schema: deliveryReply },
      401: { description: "not signed, or signed with another secret" },
      413: { description: "larger than 25 MB" },
      422: { description: "signed, but not in the format of this host" },
      503: {
        description:
          "too many deliveries are being received, or the body did not arrive in time: retry after Retry-After",
      },
    },
    handle: async ({ c, query }) => {
      const delivery = {
        provider,
        header: (name: string) => c.req.header(name),
        readBody: () => room.read(c.req.raw),
      }
      const { status, body, isRepeated } = await receive(receiver, delivery, {
        integrationId: query.integration_id,
        onPullRequest,
      })
      receiver.log.info({ provider, result: body.result, is_repeated: isRepeated }, "webhook of a git host")
      return c.json({ ...body, is_repeated: isRepeated }, status as 200 | 202)
    },
  })
}

const titles: Readonly<Record<Provider, string>> = {
  github: "GitHub",
  gitlab: "GitLab",
  gitea: "Gitea or Forgejo",
  bitbucket: "Bitbucket",
}

interface WebhookRoutes {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
}

const onePath = {
  path: "/v2/integrations/git/{integration_id}/webhook",
  params: z.object({ integration_id: uuid }),
} as const
const notFound = { 404: { description: "the workspace has no such integration, or it has no webhook" } } as const
const oneReply = { description: "the settings of the webhook", schema: webhookReply } as const

export function addWebhookRoutes(api: Api, options: WebhookRoutes): void {
  addPut(api, options)
  addRead(api, options)
  addDelete(api, options)
}

function addPut(api: Api, { db, log, key }: WebhookRoutes): void {
  addRoute(api, {
    method: "put",
    ...onePath,
    summary: "Sets the provider of an integration's host and the secrets of its webhooks.",
    body: webhookBody,
    responses: { 200: oneReply, ...notFound, 422: { description: "the body is malformed" } },
    handle: async ({ c, params, body, bodyText }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, integrationId: params.integration_id }
      if (bodyText.trim() !== "") setIgnoredFieldsHeader(c, ignoredFields(JSON.parse(bodyText), webhookFields))
      const wanted = { provider: body.provider ?? undefined, secrets: body.secrets ?? [] }
      return answerOnce(db, { c, bodyText, workspaceId: ids.workspaceId }, async (tx) => {
        const { host } = await findIntegration(tx, ids.workspaceId, ids.integrationId)
        const row = await setWebhook(tx, key, ids, wanted, host)
        const facts = { integration_id: row.integration_id, provider: row.provider }
        return { status: 200, body: renderWebhook(row), committed: () => log.info(facts, "webhook settings stored") }
      })
    },
  })
}

function addRead(api: Api, { db }: WebhookRoutes): void {
  addRoute(api, {
    method: "get",
    ...onePath,
    summary: "Returns the settings of an integration's webhook.",
    responses: { 200: oneReply, ...notFound },
    handle: async ({ c, params }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, integrationId: params.integration_id }
      return c.json(renderWebhook(await findWebhook(db, ids)))
    },
  })
}

function addDelete(api: Api, { db, log }: WebhookRoutes): void {
  addRoute(api, {
    method: "delete",
    ...onePath,
    summary: "Deletes the settings of an integration's webhook; its deliveries are refused from then on.",
    responses: { 204: { description: "deleted" }, ...notFound },
    handle: async ({ c, params }) => {
      await removeWebhookSettings(db, {
        workspaceId: c.get("caller").workspaceId,
        integrationId: params.integration_id,
      })
      log.info({ integration_id: params.integration_id }, "webhook settings removed")
      return c.body(null, 204)
    },
  })
}
