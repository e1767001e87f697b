/**
 * The tables `integration_webhooks`, `git_deliveries` and `watched_branches`. A delivery comes without an API key: the secret
 * that signed it decides which deployments it may affect (H2), and every statement here enforces that.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { RevisionRow } from "../revisions/queries.js"
import type { SourceConfig } from "../revisions/source-config.js"
import type { Provider } from "./push.js"

export interface WebhookRow {
  readonly integration_id: string
  readonly workspace_id: string
  readonly host: string
  readonly provider: Provider
  readonly secrets_sealed: readonly string[]
  readonly updated_at: Date
}

const selectWebhooks = sql`
  select w.*, i.workspace_id, i.host from integration_webhooks w join integrations i using (integration_id)`

export const webhookOf = (db: Db, workspaceId: string, integrationId: string): Promise<WebhookRow | undefined> =>
  db.row(sql`${selectWebhooks} where i.workspace_id = ${workspaceId} and i.integration_id = ${integrationId}`)

/** @param integrationId  undefined: all integrations of this provider */
export const webhooksOfProvider = (
  db: Db,
  provider: Provider,
  integrationId: string | undefined,
): Promise<WebhookRow[]> =>
  db.rows(sql`
    ${selectWebhooks} where w.provider = ${provider} and cardinality(w.secrets_sealed) > 0
      and (${integrationId ?? null}::uuid is null or w.integration_id = ${integrationId ?? null}::uuid)
    order by w.integration_id`)

export const storeWebhook = (
  db: Db,
  it: { integrationId: string; provider: Provider; secretsSealed: readonly string[] },
): Promise<number> =>
  db.run(sql`
    insert into integration_webhooks (integration_id, provider, secrets_sealed)
    values (${it.integrationId}, ${it.provider}, ${it.secretsSealed})
    on conflict (integration_id) do update
      set provider = excluded.provider, secrets_sealed = excluded.secrets_sealed, updated_at = now()`)

export const removeWebhook = (db: Db, workspaceId: string, integrationId: string): Promise<number> =>
  db.run(sql`
    delete from integration_webhooks w using integrations i
    where i.integration_id = w.integration_id and i.workspace_id = ${workspaceId}
      and i.integration_id = ${integrationId}`)

/** The signer of a delivery: integrations, or the operator of the installation. */
export interface Authority {
  readonly integrationIds: readonly string[]
  readonly isInstallation: boolean
}

export interface DeliveryKey {
  readonly provider: Provider
  readonly authority: string
  readonly deliveryId: string
}

/**
 * Takes a delivery for this transaction. A concurrent copy of it waits here until this one is answered.
 * @returns  false when it was answered before
 */
export const takeDelivery = async (tx: Db, it: DeliveryKey): Promise<boolean> => {
  const taken = await tx.run(sql`
    insert into git_deliveries (provider, authority, delivery_id)
    values (${it.provider}, ${it.authority}, ${it.deliveryId}) on conflict do nothing`)
  return taken > 0
}

export const storeDeliveryReply = (tx: Db, it: DeliveryKey, reply: { status: number; text: string }): Promise<number> =>
  tx.run(sql`
    update git_deliveries set status = ${reply.status}, reply = ${reply.text}
    where provider = ${it.provider} and authority = ${it.authority} and delivery_id = ${it.deliveryId}`)

export const answeredDelivery = (tx: Db, it: DeliveryKey): Promise<{ status: number; reply: string } | undefined> =>
  tx.row(sql`
    select status, reply from git_deliveries
    where provider = ${it.provider} and authority = ${it.authority} and delivery_id = ${it.deliveryId}`)

/** Hosts offer redelivery only for some days. */
export const deleteOldDeliveries = (db: Db): Promise<number> =>
  db.run(sql`delete from git_deliveries where received_at < now() - interval '30 days'`)

export interface GitDeployment {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly name: string
  readonly source_config: SourceConfig
  readonly repo_ref: string | null
}

/**
 * The deployments from git that an authority may affect. An integration's secret covers those that name it, and those of
 * its workspace that name none; the installation's secret covers all whose integration has no secret of its own.
 */
export const deploymentsOfAuthority = (db: Db, authority: Authority): Promise<GitDeployment[]> =>
  db.rows(sql`
    select deployment_id, workspace_id, name, source_config, source_revision_config ->> 'repo_ref' as repo_ref
    from deployments d
    where source = 'github' and delete_requested_at is null and not is_preview and (
      integration_id = any(${authority.integrationIds}::uuid[])
      or (integration_id is null and workspace_id in (
        select workspace_id from integrations where integration_id = any(${authority.integrationIds}::uuid[])))
      or (${authority.isInstallation} and not exists (
        select 1 from integration_webhooks w
        where w.integration_id = d.integration_id and cardinality(w.secrets_sealed) > 0)))
    order by deployment_id`)

export interface WatchedBranch {
  readonly deployment_id: string
  readonly ref: string
  readonly sha: string | null
  readonly failures: number
  readonly webhook_at: string | null
}

export const watchedBranch = (db: Db, deploymentId: string): Promise<WatchedBranch | undefined> =>
  db.row(
    sql`select deployment_id, ref, sha, failures, webhook_at::text from watched_branches where deployment_id = ${deploymentId}`,
  )

/** Remembers the newest commit of a branch, and when to poll again. */
export const rememberBranch = (
  tx: Db,
  it: { deploymentId: string; ref: string; sha: string; isWebhook: boolean; lookInMs: number },
): Promise<number> =>
  tx.run(sql`
    insert into watched_branches (deployment_id, ref, sha, webhook_at, look_at)
    values (${it.deploymentId}, ${it.ref}, ${it.sha}, case when ${it.isWebhook} then now() end,
      now() + ${it.lookInMs} * interval '1 millisecond')
    on conflict (deployment_id) do update
      set ref = excluded.ref, sha = excluded.sha, look_at = excluded.look_at, failures = 0,
        webhook_at = coalesce(excluded.webhook_at, watched_branches.webhook_at)`)

/**
 * Remembers the commit that a revision has found at its branch, unless another one was remembered since the host was asked, or the deployment is
 * built from another branch now.
 * @param before  the commit that was known when the host was asked
 */
export const rememberResolved = (
  db: Db,
  it: { deploymentId: string; repoRef: string | null; ref: string; sha: string; before: string | null },
): Promise<number> =>
  db.run(sql`
    insert into watched_branches as w (deployment_id, ref, sha)
    select deployment_id, ${it.ref}, ${it.sha} from deployments
    where deployment_id = ${it.deploymentId} and source_revision_config ->> 'repo_ref' = ${it.repoRef}
    on conflict (deployment_id) do update set ref = excluded.ref, sha = excluded.sha
      where w.sha is not distinct from ${it.before}`)

/**
 * What revisions have found at their branch, of those whose commit is not stored yet; in their order. A webhook that came after such a revision
 * was asked for knows better.
 */
export const foundByListener = (
  tx: Db,
  deploymentId: string,
  reported: readonly object[],
): Promise<(Pick<RevisionRow, "deployment_id" | "source" | "source_revision_config"> & { readonly sha: string })[]> =>
  tx.rows(sql`
    select r.deployment_id, r.source, r.source_revision_config, it.commit_sha as sha
    from jsonb_to_recordset(${JSON.stringify(reported)}::jsonb) as it (revision_id uuid, commit_sha text)
    join revisions r using (revision_id) left join watched_branches w using (deployment_id)
    where r.deployment_id = ${deploymentId} and r.commit_sha is null and it.commit_sha is not null
      and r.source_revision_config ->> 'repo_commit_sha' is null and (w.webhook_at is null or w.webhook_at < r.created_at)
    order by r.seq`)

export interface LatestRevision {
  /** Null until its branch was resolved. */
  readonly sha: string | null
  readonly is_open: boolean
}

export const latestRevision = (tx: Db, deploymentId: string): Promise<LatestRevision | undefined> =>
  tx.row(sql`
    select coalesce(commit_sha, source_revision_config ->> 'repo_commit_sha') as sha, stage is not null as is_open
    from revisions where deployment_id = ${deploymentId} order by seq desc limit 1`)

export interface DueBranch {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly integration_id: string | null
  readonly repo_url: string
  readonly repo_ref: string
  readonly failures: number
  /** For how long webhooks make polling unnecessary, in milliseconds; 0: none came lately. */
  readonly told_ms: number
  /** When the last webhook came, in Postgres' text form; null: none has. */
  readonly webhook_at: string | null
  /** The newest known commit. */
  readonly sha: string | null
}

/**
 * All deployments that build on push, of repositories with one that is due, so that one poll serves all of them. Those that have been due for
 * longest come first: while there are more than one pass can poll, each gets its turn.
 */
export const dueBranches = (db: Db, toldMs: number): Promise<DueBranch[]> =>
  db.rows(sql`
    with watched as (
      select d.deployment_id, d.workspace_id, d.integration_id, d.source_config ->> 'repo_url' as repo_url,
        d.source_revision_config ->> 'repo_ref' as repo_ref, coalesce(w.failures, 0) as failures, w.webhook_at::text as webhook_at, w.sha,
        coalesce(w.look_at <= now(), true) as is_due, coalesce(w.look_at, '-infinity') as look_at,
        greatest(0, extract(epoch from w.webhook_at + ${toldMs} * interval '1 millisecond' - now()) * 1000)::bigint
          as told_ms
      from deployments d left join watched_branches w using (deployment_id)
      where d.source = 'github' and d.delete_requested_at is null and not d.is_preview
        and d.source_config -> 'build_on_push' = 'true' and d.source_revision_config ->> 'repo_ref' is not null
        and d.source_config ->> 'repo_url' is not null
    )
    select deployment_id, workspace_id, integration_id, repo_url, repo_ref, failures, coalesce(told_ms, 0) as told_ms,
      webhook_at, sha
    from watched it where exists (
      select 1 from watched other
      where other.is_due and other.workspace_id = it.workspace_id and other.repo_url = it.repo_url
        and other.integration_id is not distinct from it.integration_id)
    order by min(look_at) over (partition by workspace_id, repo_url, integration_id), deployment_id limit 500`)

/**
 * Schedules the next polls; done before the poll, so that a crash does not cause constant polling. A webhook that has come meanwhile has
 * scheduled its own.
 */
export const planLooks = (
  db: Db,
  looks: readonly { deploymentId: string; ref: string; webhookAt: string | null; inMs: number }[],
): Promise<number> =>
  db.run(sql`
    insert into watched_branches (deployment_id, ref, look_at)
    select d.deployment_id, given.ref, now() + given.in_ms * interval '1 millisecond'
    from unnest(${looks.map((it) => it.deploymentId)}::uuid[], ${looks.map((it) => it.ref)}::text[],
      ${looks.map((it) => it.webhookAt)}::timestamptz[], ${looks.map((it) => it.inMs)}::float8[])
      as given (deployment_id, ref, webhook_at, in_ms)
    join deployments d using (deployment_id)
    left join watched_branches w on w.deployment_id = d.deployment_id
    where w.webhook_at is not distinct from given.webhook_at
    on conflict (deployment_id) do update set look_at = excluded.look_at`)

export const countFailures = (db: Db, deploymentIds: readonly string[], isFailure: boolean): Promise<number> =>
  db.run(sql`
    update watched_branches set failures = case when ${isFailure} then failures + 1 else 0 end
    where deployment_id = any(${deploymentIds}::uuid[])`)

/** After a time without webhooks: schedules one poll of each branch, spread over a while. */
export const pollSoon = (db: Db, withinMs: number): Promise<number> =>
  db.run(sql`
    update watched_branches
    set look_at = least(look_at, now() + random() * ${withinMs} * interval '1 millisecond')`)
