/** The rows of archives that come from the control plane. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export const isUploadHere = async (db: Db, uploadId: string): Promise<boolean> =>
  (await db.row(sql`
    select from uploads where upload_id = ${uploadId} and stored_at is not null and removed_at is null`)) !== undefined

export const forgetUpload = (db: Db, uploadId: string): Promise<number> =>
  db.run(sql`delete from uploads where upload_id = ${uploadId}`)

/** Makes its row ready to receive it, also again when it was removed here as unneeded. */
export async function awaitUpload(db: Db, deploymentId: string, uploadId: string): Promise<void> {
  await db.run(sql`delete from uploads where upload_id = ${uploadId} and removed_at is not null`)
  await db.run(sql`
    insert into uploads (upload_id, deployment_id, expires_at)
    values (${uploadId}, ${deploymentId}, now() + interval '1 day')
    on conflict (upload_id) do update set expires_at = excluded.expires_at`)
}
