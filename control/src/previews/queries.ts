/** The tables `preview_settings`, `preview_secrets` and `previews`. */

import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { StorableText } from "@superstep/toolkit/text/storable"
import type { Preview, PreviewSettings, PreviewState } from "./preview.js"

export interface SettingsRow extends PreviewSettings {
  readonly deployment_id: string
  readonly updated_at: Date
  readonly secret_names: readonly string[]
}

export const settingsOf = (db: Db, workspaceId: string, deploymentId: string): Promise<SettingsRow | undefined> =>
  db.row(sql`
    select s.*, array(select name from preview_secrets p where p.deployment_id = s.deployment_id order by name) as secret_names
    from preview_settings s join deployments d using (deployment_id)
    where d.workspace_id = ${workspaceId} and d.deployment_id = ${deploymentId}`)

export const storeSettings = (tx: Db, deploymentId: string, it: PreviewSettings): Promise<number> =>
  tx.run(sql`
    insert into preview_settings (deployment_id, is_enabled, max_previews, ttl_days, approve_label)
    values (${deploymentId}, ${it.is_enabled}, ${it.max_previews}, ${it.ttl_days}, ${it.approve_label})
    on conflict (deployment_id) do update set is_enabled = excluded.is_enabled, max_previews = excluded.max_previews,
      ttl_days = excluded.ttl_days, approve_label = excluded.approve_label, updated_at = now()`)

export interface SealedPreviewSecret {
  readonly name: string
  readonly value_sealed: string
}

export const previewSecrets = (db: Db, deploymentId: string): Promise<SealedPreviewSecret[]> =>
  db.rows(sql`select name, value_sealed from preview_secrets where deployment_id = ${deploymentId} order by name`)

export async function replacePreviewSecrets(
  tx: Db,
  deploymentId: string,
  secrets: readonly SealedPreviewSecret[],
): Promise<void> {
  await tx.run(sql`delete from preview_secrets where deployment_id = ${deploymentId}`)
  await tx.run(sql`
    insert into preview_secrets (deployment_id, name, value_sealed)
    select ${deploymentId}, name, value_sealed
    from unnest(${secrets.map(({ name }) => name)}::text[], ${secrets.map((it) => it.value_sealed)}::text[])
      as given (name, value_sealed)`)
}

export interface PullRequestFacts {
  readonly previewId: string
  readonly workspaceId: string
  readonly parentId: string
  readonly repository: string
  readonly number: number
  readonly title: StorableText
  readonly isFork: boolean
  readonly headRef: string | null
  readonly headSha: string | null
  readonly ttlDays: number
}

/** Stores the state of a pull request. A push to it restarts its time to live. */
export const storePreview = (tx: Db, it: PullRequestFacts): Promise<Preview | undefined> =>
  tx.row(sql`
    insert into previews (preview_id, workspace_id, parent_id, repository, number, title, is_fork, head_ref, head_sha,
      state, expires_at)
    values (${it.previewId}, ${it.workspaceId}, ${it.parentId}, ${it.repository}, ${it.number}, ${it.title},
      ${it.isFork}, ${it.headRef}, ${it.headSha}, 'waiting', now() + ${it.ttlDays} * interval '1 day')
    on conflict (parent_id, number) do update
      set title = excluded.title, is_fork = excluded.is_fork, head_ref = excluded.head_ref,
        head_sha = excluded.head_sha, pushed_at = now(), expires_at = excluded.expires_at, updated_at = now()
    returning *`)

export const previewOfPull = (tx: Db, parentId: string, number: number): Promise<Preview | undefined> =>
  tx.row(sql`select * from previews where parent_id = ${parentId} and number = ${number}`)

export const approveCommit = (tx: Db, previewId: string, sha: string): Promise<Preview | undefined> =>
  tx.row(sql`
    update previews set approved_sha = ${sha}, updated_at = now() where preview_id = ${previewId} returning *`)

export const setPreviewState = (
  tx: Db,
  previewId: string,
  it: { state: PreviewState; reason: string | null; deploymentId: string | null },
): Promise<number> =>
  tx.run(sql`
    update previews set state = ${it.state}, reason = ${it.reason}, deployment_id = ${it.deploymentId},
      updated_at = now()
    where preview_id = ${previewId}`)

/** The number of the repository's other previews whose deployment is not being deleted. */
export const countOthers = async (tx: Db, preview: Preview): Promise<number> => {
  const row = await tx.row<{ others: number }>(sql`
    select count(*) as others from previews p join deployments d using (deployment_id)
    where p.workspace_id = ${preview.workspace_id} and p.repository = ${preview.repository}
      and p.preview_id <> ${preview.preview_id} and d.delete_requested_at is null`)
  return row?.others ?? 0
}

export interface PreviewFilter {
  readonly workspaceId: string
  readonly parentId?: string | undefined
  readonly state?: PreviewState | undefined
}

const filtered = ({ workspaceId, parentId, state }: PreviewFilter) => sql`
  from previews p where p.workspace_id = ${workspaceId}
    and (${parentId ?? null}::uuid is null or p.parent_id = ${parentId ?? null}::uuid)
    and (${state ?? null}::text is null or p.state = ${state ?? null}::text)`

export const findPreviews = (
  db: Db,
  filter: PreviewFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<Preview[]> =>
  db.rows(sql`
    select p.* ${filtered(filter)} order by p.created_at desc, p.preview_id desc limit ${limit} offset ${offset}`)

export const countPreviews = async (db: Db, filter: PreviewFilter): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`select count(*) as total ${filtered(filter)}`)
  return row?.total ?? 0
}

export const previewById = (db: Db, workspaceId: string, previewId: string): Promise<Preview | undefined> =>
  db.row(sql`select * from previews where workspace_id = ${workspaceId} and preview_id = ${previewId}`)

/** Previews that must end: their time has run out, or their parent or deployment is being deleted. */
export const previewsToEnd = (db: Db): Promise<Preview[]> =>
  db.rows(sql`
    select p.* from previews p
      left join deployments parent on parent.deployment_id = p.parent_id
      left join deployments own on own.deployment_id = p.deployment_id
      left join preview_settings s on s.deployment_id = p.parent_id
    where p.state in ('awaiting_approval', 'waiting', 'active', 'failed') and (p.expires_at <= now()
      or parent.deployment_id is null or parent.delete_requested_at is not null or not coalesce(s.is_enabled, false)
      or (p.state = 'active' and (own.deployment_id is null or own.delete_requested_at is not null)))
    order by p.pushed_at limit 100`)

/**
 * Waiting previews whose repository has room, the first ones in line of each before the next ones of any: no repository keeps another one
 * waiting. `nextStep` decides again, under the lock.
 */
export const previewsToStart = (db: Db): Promise<Preview[]> =>
  db.rows(sql`
    with taken as (
      select o.workspace_id, o.repository, count(*) as previews from previews o join deployments d using (deployment_id)
      where d.delete_requested_at is null group by o.workspace_id, o.repository),
    waiting as (
      select p.preview_id, row_number() over (partition by p.workspace_id, p.repository order by p.pushed_at) as place
      from previews p join preview_settings s on s.deployment_id = p.parent_id
        left join taken t on t.workspace_id = p.workspace_id and t.repository = p.repository
      where p.state = 'waiting' and coalesce(t.previews, 0) < s.max_previews)
    select p.* from waiting w join previews p using (preview_id) order by w.place, p.pushed_at limit 100`)

/** Deletes the rows of ended previews with no deployment; a reopened pull request starts over, approval included. */
export const deleteOldPreviews = (db: Db, days: number): Promise<number> =>
  db.run(sql`
    delete from previews where state in ('closed', 'expired') and deployment_id is null
      and updated_at < now() - make_interval(days => ${days})`)
