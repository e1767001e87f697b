/** The bytes of complete archives. */
import type { Db } from "@superstep/toolkit/db/database"
import { insertPiece, pieceOf, type Transfer } from "./piece-queries.js"
import { transfersOf } from "./queries.js"

/** Reads an archive piece by piece. It ends early when the archive is deleted meanwhile. */
export async function* readArchiveContent(db: Db, transfer: Transfer): AsyncGenerator<Buffer> {
  for (let number = 0; ; number++) {
    const bytes = await pieceOf(db, transfer, number)
    if (!bytes) return
    yield bytes
  }
}

/** Copies the archives of a deployment to another database, which has its rows already. */
export async function copyArchives(from: Db, to: Db, deploymentId: string): Promise<void> {
  for (const { upload_id: uploadId, transfer_id: transferId } of await transfersOf(from, deploymentId)) {
    const transfer = { uploadId, transferId }
    let number = 0
    for await (const bytes of readArchiveContent(from, transfer)) {
      await insertPiece(to, { ...transfer, number, bytes })
      number++
    }
  }
}
