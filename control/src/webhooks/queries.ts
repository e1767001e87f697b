/** The tables `webhooks` and `webhook_deliveries`. `settle_event` inserts deliveries (migration 4). */

import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { StorableText } from "@superstep/toolkit/text/storable"
import type { Event } from "../events/event.js"
import type { Delivery, DeliveryState, Webhook, WebhookOwner } from "./webhook.js"

const columns = sql`webhook_id, workspace_id, url, description, event_types, all_workspaces, created_at`

const ofOwner = ({ workspaceId, isOperator }: WebhookOwner) =>
  sql`workspace_id = ${workspaceId} and (${isOperator} or not all_workspaces)`

export interface NewWebhook extends Omit<Webhook, "created_at"> {
  readonly signingSecretSealed: string
}

export const insertWebhook = (tx: Db, it: NewWebhook): Promise<Webhook | undefined> =>
  tx.row(sql`
    insert into webhooks (webhook_id, workspace_id, url, description, event_types, all_workspaces,
      signing_secret_sealed)
    values (${it.webhook_id}, ${it.workspace_id}, ${it.url}, ${it.description}, ${it.event_types}, ${it.all_workspaces},
      ${it.signingSecretSealed})
    returning ${columns}`)

export const webhookById = (db: Db, owner: WebhookOwner, webhookId: string): Promise<Webhook | undefined> =>
  db.row(sql`select ${columns} from webhooks where ${ofOwner(owner)} and webhook_id = ${webhookId}`)

/** Prevents its deletion until the transaction that adds deliveries has ended. */
export const holdWebhook = (tx: Db, owner: WebhookOwner, webhookId: string): Promise<number> =>
  // No stronger lock: `settle_event` skips webhooks that have one, and events would not be delivered.
  tx.run(sql`select 1 from webhooks where ${ofOwner(owner)} and webhook_id = ${webhookId} for key share`)

export const webhooksOf = (
  db: Db,
  owner: WebhookOwner,
  { limit, offset }: { limit: number; offset: number },
): Promise<Webhook[]> =>
  db.rows(sql`
    select ${columns} from webhooks where ${ofOwner(owner)}
    order by created_at desc, webhook_id desc limit ${limit} offset ${offset}`)

export const countWebhooks = async (db: Db, owner: WebhookOwner): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`select count(*) as total from webhooks where ${ofOwner(owner)}`)
  return row?.total ?? 0
}

export const removeWebhook = (tx: Db, owner: WebhookOwner, webhookId: string): Promise<number> =>
  tx.run(sql`delete from webhooks where ${ofOwner(owner)} and webhook_id = ${webhookId}`)

/** Newest first. @param before  the number of an event; undefined: from the newest on */
export const deliveriesOf = (
  db: Db,
  { workspaceId, webhookId }: { workspaceId: string; webhookId: string },
  { before, limit, state }: { before: number | undefined; limit: number; state: DeliveryState | undefined },
): Promise<(Delivery & { seq: number })[]> =>
  db.rows(sql`
    select d.*, e.seq, e.type as event_type
    from webhook_deliveries d join webhooks w using (webhook_id) join events e using (event_id)
    where w.workspace_id = ${workspaceId} and d.webhook_id = ${webhookId}
      and (${before ?? null}::bigint is null or e.seq < ${before ?? null})
      and (${state ?? null}::text is null or d.state = ${state ?? null})
    order by e.seq desc limit ${limit}`)

export interface ReplayRange {
  readonly eventIds?: readonly string[] | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

/** Makes deliveries of past events due, also of events from before the webhook existed. @returns  how many */
export const makeDueAgain = async (
  tx: Db,
  { workspaceId, webhookId }: { workspaceId: string; webhookId: string },
  { eventIds, since, until }: ReplayRange,
): Promise<number> => {
  const made = await tx.run(sql`
    insert into webhook_deliveries (webhook_id, event_id)
    select w.webhook_id, e.event_id from webhooks w join events e on w.all_workspaces or e.workspace_id = w.workspace_id
    where w.workspace_id = ${workspaceId} and w.webhook_id = ${webhookId} and e.seq is not null
      and (w.event_types = '{}' or e.type = any (w.event_types))
      and (${eventIds ?? null}::uuid[] is null or e.event_id = any (${eventIds ?? null}::uuid[]))
      and (${since ?? null}::timestamptz is null or e.created_at >= ${since ?? null})
      and (${until ?? null}::timestamptz is null or e.created_at < ${until ?? null})
    on conflict (webhook_id, event_id) do update
      set state = 'pending', tries = 0, next_try_at = now(), reply_status = null, failure = null`)
  await tx.run(sql`select pg_notify('superstep_webhooks', '')`)
  return made
}

/** A delivery to be tried, with all that its call needs. */
export interface DueDelivery extends Event {
  readonly delivery_id: string
  readonly webhook_id: string
  /** The workspace of the webhook; the event's may be another one. */
  readonly owner_id: string
  readonly url: string
  readonly signing_secret_sealed: string
  /** Number of this try, from 1. */
  readonly tries: number
}

/**
 * Takes deliveries that are due. The time of the next try is set before the try, so that nothing is lost when a control
 * plane dies during it, and no other control plane takes the same one meanwhile (W2).
 * @param holdMs  longer than a try can take
 * @param busy    workspaces of which none is taken
 */
export const takeDueDeliveries = (
  db: Db,
  { limit, holdMs, busy }: { limit: number; holdMs: number; busy: readonly string[] },
): Promise<DueDelivery[]> =>
  db.rows(sql`
    with due as (
      select delivery_id from webhook_deliveries where next_try_at <= now()
        and webhook_id not in (select webhook_id from webhooks where workspace_id = any(${[...busy]}::uuid[]))
      order by next_try_at limit ${limit} for update skip locked),
    taken as (
      update webhook_deliveries d set tries = d.tries + 1,
        next_try_at = now() + make_interval(secs => ${holdMs} / 1000.0), reply_status = null, failure = null
      from due where d.delivery_id = due.delivery_id
      returning d.delivery_id, d.webhook_id, d.event_id, d.tries)
    select e.*, t.delivery_id, t.webhook_id, t.tries, w.url, w.workspace_id as owner_id, w.signing_secret_sealed
    from taken t join webhooks w using (webhook_id) join events e using (event_id)`)

export interface TryResult {
  readonly deliveryId: string
  readonly tries: number
  readonly state: DeliveryState
  /** When to retry, in milliseconds from now; only while it is pending. */
  readonly againMs: number | undefined
  readonly replyStatus: number | undefined
  readonly failure: StorableText | undefined
}

/** Stores the result of a try, unless another try or a replay has started meanwhile. */
export const recordTry = (db: Db, result: TryResult): Promise<number> =>
  db.run(sql`
    update webhook_deliveries set state = ${result.state}, last_tried_at = now(),
      next_try_at = now() + make_interval(secs => ${result.againMs ?? null}::float8 / 1000.0),
      reply_status = ${result.replyStatus ?? null}, failure = ${result.failure ?? null}
    where delivery_id = ${result.deliveryId} and tries = ${result.tries} and state = 'pending'`)

/** When the next delivery is due, in milliseconds from now; undefined when none waits. */
export const nextDeliveryMs = async (db: Db): Promise<number | undefined> => {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(next_try_at) - now())::float8 * 1000 as due from webhook_deliveries
    where next_try_at is not null`)
  return row?.due ?? undefined
}
