/** The table `upload_pieces`: what clients have sent, also in transfers that did not become an archive. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** One try to send the archive of an upload. */
export interface Transfer {
  readonly uploadId: string
  readonly transferId: string
}

/** @throws  a foreign key violation: the upload does not exist any more */
export const insertPiece = (
  db: Db,
  { uploadId, transferId, number, bytes }: Transfer & { readonly number: number; readonly bytes: Buffer },
): Promise<number> =>
  db.run(sql`
    insert into upload_pieces (upload_id, transfer_id, number, bytes)
    values (${uploadId}, ${transferId}, ${number}, ${bytes})`)

export const pieceOf = async (
  db: Db,
  { uploadId, transferId }: Transfer,
  number: number,
): Promise<Buffer | undefined> => {
  const row = await db.row<{ bytes: Buffer }>(sql`
    select bytes from upload_pieces
    where upload_id = ${uploadId} and transfer_id = ${transferId} and number = ${number}`)
  return row?.bytes
}

export const deletePieces = (db: Db, { uploadId, transferId }: Transfer): Promise<number> =>
  db.run(sql`delete from upload_pieces where upload_id = ${uploadId} and transfer_id = ${transferId}`)

/**
 * Deletes the pieces of archives that nothing needs, and those of transfers that have failed.
 * @param lastedMs  a piece that is older, and not of an archive, belongs to no transfer that still goes on
 */
export const deleteOldPieces = (db: Db, lastedMs: number): Promise<number> =>
  db.run(sql`
    delete from upload_pieces p using uploads u
    where u.upload_id = p.upload_id and (u.removed_at is not null
      or (p.transfer_id is distinct from u.transfer_id
        and p.stored_at < now() - ${lastedMs} * interval '1 millisecond'))`)
