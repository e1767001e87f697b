/** The table `uploads`. Callers hold the deployment already, or have an address that was signed for it. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Transfer } from "./piece-queries.js"
import type { Upload } from "./upload.js"

const columns = sql`upload_id, deployment_id, expires_at, stored_at, sha256, size_bytes, transfer_id, removed_at`

export const insertUpload = (
  db: Db,
  it: { uploadId: string; deploymentId: string; addressMs: number },
): Promise<{ expires_at: Date } | undefined> =>
  db.row(sql`
    insert into uploads (upload_id, deployment_id, expires_at)
    values (${it.uploadId}, ${it.deploymentId}, now() + ${it.addressMs} * interval '1 millisecond')
    returning expires_at`)

export const countUnused = async (db: Db, deploymentId: string): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`
    select count(*) as total from uploads
    where deployment_id = ${deploymentId} and used_at is null and removed_at is null
      and (stored_at is not null or expires_at > now())`)
  return row?.total ?? 0
}

/** Finds none of a deployment that is being deleted. */
export const uploadById = (db: Db, ids: { deploymentId: string; uploadId: string }): Promise<Upload | undefined> =>
  db.row(sql`
    select ${columns} from uploads join deployments using (deployment_id)
    where upload_id = ${ids.uploadId} and deployment_id = ${ids.deploymentId} and delete_requested_at is null`)

/** Locks the row, so that of two transfers that finish at once one comes second. */
export const lockUpload = (tx: Db, uploadId: string): Promise<Upload | undefined> =>
  tx.row(sql`select ${columns} from uploads where upload_id = ${uploadId} for update`)

export const markStored = (
  tx: Db,
  { uploadId, transferId }: Transfer,
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
): Promise<number> =>
  tx.run(sql`
    update uploads set stored_at = now(), sha256 = ${sha256}, size_bytes = ${sizeBytes}, transfer_id = ${transferId}
    where upload_id = ${uploadId}`)

/** @returns  the number of rows: 0 when this deployment has no such archive, or it was deleted */
export const markUsed = (tx: Db, ids: { deploymentId: string; uploadId: string }): Promise<number> =>
  tx.run(sql`
    update uploads set used_at = now()
    where upload_id = ${ids.uploadId} and deployment_id = ${ids.deploymentId}
      and stored_at is not null and removed_at is null`)

/** Addresses that received nothing. An hour after they expired, nobody is sending any more. */
export const removeUnsent = (db: Db): Promise<number> =>
  db.run(sql`delete from uploads where stored_at is null and expires_at < now() - interval '1 hour'`)

// So that a new revision can be compared with those before it.
const comparedRevisions = 3

/**
 * Marks the archives that nothing needs: received and last used more than a day ago, no longer the source of their
 * deployment, not waited for by a revision, and not that of one of the newest revisions.
 */
export const markUnneeded = (db: Db): Promise<number> =>
  db.run(sql`
    update uploads u set removed_at = now()
    where stored_at is not null and removed_at is null
      and coalesce(used_at, stored_at) < now() - interval '24 hours'
      and not exists (
        select 1 from deployments d where d.deployment_id = u.deployment_id
          and d.source_revision_config ->> 'source_tarball_path' = u.deployment_id || '/' || u.upload_id || '.tar.gz')
      and not exists (
        select 1 from revisions r where r.deployment_id = u.deployment_id
          and (r.stage in ('queue', 'fetch', 'build') or r.seq + ${comparedRevisions} > (
            select max(newest.seq) from revisions newest where newest.deployment_id = u.deployment_id))
          and r.source_revision_config ->> 'source_tarball_path' = u.deployment_id || '/' || u.upload_id || '.tar.gz')`)

/** Whether an archive was stored by a release that kept it as a file, and is in no transfer yet. */
export const isFormerFile = async (db: Db, uploadId: string): Promise<boolean> =>
  (await db.row(sql`
    select from uploads
    where upload_id = ${uploadId} and stored_at is not null and removed_at is null and transfer_id is null`)) !==
  undefined

export const setTransfer = (db: Db, { uploadId, transferId }: Transfer): Promise<number> =>
  db.run(sql`update uploads set transfer_id = ${transferId} where upload_id = ${uploadId}`)

/** The complete archives of a deployment. */
export const transfersOf = (db: Db, deploymentId: string): Promise<{ upload_id: string; transfer_id: string }[]> =>
  db.rows(sql`
    select upload_id, transfer_id from uploads where deployment_id = ${deploymentId} and transfer_id is not null`)
