/** Creates, finds and deletes webhooks, and replays past events to them. */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import type { EventType } from "../events/event.js"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { lockWorkspace } from "../workspaces/queries.js"
import { type AddressRules, urlProblem } from "./address-rules.js"
import {
  countWebhooks,
  deliveriesOf,
  holdWebhook,
  insertWebhook,
  makeDueAgain,
  type ReplayRange,
  removeWebhook,
  webhookById,
  webhooksOf,
} from "./queries.js"
import { type Delivery, type DeliveryState, newSigningSecret, type Webhook, type WebhookOwner } from "./webhook.js"

// Each event causes a row and a call for every one of them.
const mostOfAWorkspace = 50

export interface CreatedWebhook {
  readonly webhook: Webhook
  /** `whsec_…`; stored encrypted, so it is shown only this once. */
  readonly signingSecret: string
}

/**
 * @throws InvalidInput  the address may not be called (W4)
 * @throws Conflict      the workspace has 50 of them already
 */
export async function createWebhook(
  tx: Db,
  { key, rules }: { key: MasterKey; rules: AddressRules },
  owner: WebhookOwner,
  wanted: { url: string; description: string | null; eventTypes: readonly EventType[]; allWorkspaces: boolean },
): Promise<CreatedWebhook> {
  const problem = urlProblem(rules, wanted.url)
  if (problem) throw new InvalidInput([{ path: ["body", "url"], message: problem, type: "value_error" }])
  await lockWorkspace(tx, owner.workspaceId)
  if ((await countWebhooks(tx, owner)) >= mostOfAWorkspace) {
    throw new Conflict(`the workspace has ${mostOfAWorkspace} webhooks: delete one first`, "too_many_webhooks")
  }
  const webhookId = newId()
  const signingSecret = newSigningSecret()
  const webhook = await insertWebhook(tx, {
    webhook_id: webhookId,
    workspace_id: owner.workspaceId,
    url: wanted.url,
    description: wanted.description,
    event_types: wanted.eventTypes,
    all_workspaces: wanted.allWorkspaces,
    signingSecretSealed: seal(key, signingSecret, contextOf.outboundWebhook(owner.workspaceId, webhookId)),
  })
  if (!webhook) throw new Error("the new webhook was not stored")
  return { webhook, signingSecret }
}

/** @throws CannotOpen  the secret was encrypted with another master key */
export const openSigningSecret = (
  key: MasterKey,
  it: { workspace_id: string; webhook_id: string; signing_secret_sealed: string },
): string => open(key, it.signing_secret_sealed, contextOf.outboundWebhook(it.workspace_id, it.webhook_id))

const notFound = (webhookId: string) => new NotFound(`Webhook ID ${webhookId} not found.`)

/** @throws NotFound */
export async function findWebhook(db: Db, owner: WebhookOwner, webhookId: string): Promise<Webhook> {
  const webhook = await webhookById(db, owner, webhookId)
  if (!webhook) throw notFound(webhookId)
  return webhook
}

export async function listWebhooks(
  db: Db,
  owner: WebhookOwner,
  page: { limit: number; offset: number },
): Promise<{ rows: Webhook[]; total: number }> {
  const [rows, total] = await Promise.all([webhooksOf(db, owner, page), countWebhooks(db, owner)])
  return { rows, total }
}

/** Deletes the webhook with all its deliveries; a call under way is not interrupted. @throws NotFound */
export async function deleteWebhook(tx: Db, owner: WebhookOwner, webhookId: string): Promise<void> {
  if ((await removeWebhook(tx, owner, webhookId)) === 0) throw notFound(webhookId)
}

/** @throws NotFound */
export async function listDeliveries(
  db: Db,
  ids: WebhookOwner & { webhookId: string },
  { cursor, limit, state }: { cursor: number | undefined; limit: number; state: DeliveryState | undefined },
): Promise<{ deliveries: readonly Delivery[]; nextCursor: string | null }> {
  await findWebhook(db, ids, ids.webhookId)
  const deliveries = await deliveriesOf(db, ids, { before: cursor, limit, state })
  // The webhook may have been deleted after it was found.
  if (deliveries.length === 0) await findWebhook(db, ids, ids.webhookId)
  const last = deliveries.at(-1)
  return { deliveries, nextCursor: last && deliveries.length === limit ? String(last.seq) : null }
}

/**
 * Calls a webhook about past events again, with the ids of the first calls (W3).
 * @returns  the number of events to be delivered
 * @throws NotFound
 */
export async function replay(tx: Db, ids: WebhookOwner & { webhookId: string }, range: ReplayRange): Promise<number> {
  if ((await holdWebhook(tx, ids, ids.webhookId)) === 0) throw notFound(ids.webhookId)
  return makeDueAgain(tx, ids, range)
}
