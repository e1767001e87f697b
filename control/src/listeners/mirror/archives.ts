/** Fetches archives of source code from the control plane, under the ids that they have there. */
import type { WantedArchive, WantedRevision } from "@superstep/protocol/listener/messages"
import type { Database } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { awaitUpload, forgetUpload, isUploadHere } from "../../uploads/mirror-queries.js"
import { takeArchive } from "../../uploads/operations.js"
import { objectPathOf } from "../../uploads/upload.js"
import type { CentralCalls } from "./central.js"

/** Those that are not here yet, each once. */
export async function missingArchives(db: Database, revisions: readonly WantedRevision[]): Promise<WantedArchive[]> {
  const missing = new Map<string, WantedArchive>()
  for (const { archive } of revisions)
    if (archive && !(await isUploadHere(db, archive.upload_id))) missing.set(archive.upload_id, archive)
  return [...missing.values()]
}

/**
 * The deployment must be here. A call that broke off leaves nothing that counts, and is repeated.
 * @throws CentralFailed
 * @throws Conflict  it arrived with another content
 */
export async function fetchArchive(
  db: Database,
  calls: CentralCalls,
  deploymentId: string,
  { upload_id: uploadId, sha256 }: WantedArchive,
): Promise<void> {
  await awaitUpload(db, deploymentId, uploadId)
  const objectPath = objectPathOf(deploymentId, uploadId)
  const received = await takeArchive(db, { objectPath, body: await calls.archive(uploadId) })
  if (received.sha256 === sha256) return
  await forgetUpload(db, uploadId)
  throw new Conflict(`the archive ${uploadId} arrived with another content than it has at the control plane`)
}
