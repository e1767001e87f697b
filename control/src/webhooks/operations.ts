/** Makes, finds and removes webhooks, and calls them about the past once more. */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import type { EventType } from "../events/event.js"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { type AddressRules, urlProblem } from "./address-rules.js"
import {
  countWebhooks,
  deliveriesOf,
  insertWebhook,
  makeDueAgain,
  type ReplayRange,
  removeWebhook,
  webhookById,
  webhooksOf,
} from "./queries.js"
import { type Delivery, type DeliveryState, newSigningSecret, type Webhook } from "./webhook.js"

// Each event is a row and a call for every one of them.
const mostOfAWorkspace = 50

export interface CreatedWebhook {
  readonly webhook: Webhook
  /** `whsec_…`; kept sealed, so this is the only time to see it. */
  readonly signingSecret: string
}

/**
 * @throws InvalidInput  the address may not be called (W4)
 * @throws Conflict      the workspace has 50 of them
 */
export async function createWebhook(
  tx: Db,
  { key, rules }: { key: MasterKey; rules: AddressRules },
  workspaceId: string,
  wanted: { url: string; description: string | null; eventTypes: readonly EventType[] },
): Promise<CreatedWebhook> {
  const problem = urlProblem(rules, wanted.url)
  if (problem) throw new InvalidInput([{ path: ["body", "url"], message: problem, type: "value_error" }])
  if ((await countWebhooks(tx, workspaceId)) >= mostOfAWorkspace) {
    throw new Conflict(`the workspace has ${mostOfAWorkspace} webhooks: delete one first`, "too_many_webhooks")
  }
  const webhookId = newId()
  const signingSecret = newSigningSecret()
  const webhook = await insertWebhook(tx, {
    webhook_id: webhookId,
    workspace_id: workspaceId,
    url: wanted.url,
    description: wanted.description,
    event_types: wanted.eventTypes,
    signingSecretSealed: seal(key, signingSecret, contextOf.outboundWebhook(workspaceId, webhookId)),
  })
  if (!webhook) throw new Error("the new webhook was not stored")
  return { webhook, signingSecret }
}

/** @throws CannotOpen  the master key is another one than the secret was sealed with */
export const openSigningSecret = (
  key: MasterKey,
  it: { workspace_id: string; webhook_id: string; signing_secret_sealed: string },
): string => open(key, it.signing_secret_sealed, contextOf.outboundWebhook(it.workspace_id, it.webhook_id))

const notFound = (webhookId: string) => new NotFound(`Webhook ID ${webhookId} not found.`)

/** @throws NotFound */
export async function findWebhook(db: Db, workspaceId: string, webhookId: string): Promise<Webhook> {
  const webhook = await webhookById(db, workspaceId, webhookId)
  if (!webhook) throw notFound(webhookId)
  return webhook
}

export async function listWebhooks(
  db: Db,
  workspaceId: string,
  page: { limit: number; offset: number },
): Promise<{ rows: Webhook[]; total: number }> {
  const [rows, total] = await Promise.all([webhooksOf(db, workspaceId, page), countWebhooks(db, workspaceId)])
  return { rows, total }
}

/** Removes it with all its deliveries; a call that is under way ends as it will. @throws NotFound */
export async function deleteWebhook(tx: Db, workspaceId: string, webhookId: string): Promise<void> {
  if ((await removeWebhook(tx, workspaceId, webhookId)) === 0) throw notFound(webhookId)
}

/** @throws NotFound */
export async function listDeliveries(
  db: Db,
  ids: { workspaceId: string; webhookId: string },
  { cursor, limit, state }: { cursor: number | undefined; limit: number; state: DeliveryState | undefined },
): Promise<{ deliveries: readonly Delivery[]; nextCursor: string | null }> {
  await findWebhook(db, ids.workspaceId, ids.webhookId)
  const deliveries = await deliveriesOf(db, ids, { before: cursor, limit, state })
  const last = deliveries.at(-1)
  return { deliveries, nextCursor: last && deliveries.length === limit ? String(last.seq) : null }
}

/**
 * Calls a webhook about past events again, under the ids of the first calls (W3).
 * @returns how many events it will be told
 * @throws NotFound
 */
export async function replay(
  tx: Db,
  ids: { workspaceId: string; webhookId: string },
  range: ReplayRange,
): Promise<number> {
  await findWebhook(tx, ids.workspaceId, ids.webhookId)
  return makeDueAgain(tx, ids, range)
}
