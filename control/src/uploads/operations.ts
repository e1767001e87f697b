/**
 * Issues upload addresses for archives, receives the archives, and finds those that a revision may use.
 * U1 an address is for one deployment, one archive and 15 minutes; U2 an archive is complete or absent: its pieces count when its
 * row names their transfer; U3 pieces are deleted when nothing needs them.
 */
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import { type Database, type Db, isSqlState, sqlState } from "@superstep/toolkit/db/database"
import { Conflict, NotFound, Refused, TooManyRequests } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { deleteOldPieces, deletePieces, insertPiece, type Transfer } from "./piece-queries.js"
import {
  countUnused,
  insertUpload,
  lockUpload,
  markStored,
  markUnneeded,
  markUsed,
  removeUnsent,
  uploadById,
} from "./queries.js"
import { type Received, receive } from "./receive.js"
import { addressMs, maxArchiveBytes, maxUnused, objectPathOf, parseObjectPath, type Upload } from "./upload.js"

/**
 * @param deploymentId  a deployment that the caller holds
 * @throws TooManyRequests  too many archives wait that no revision uses
 */
export async function offerUpload(tx: Db, deploymentId: string): Promise<{ objectPath: string; expiresAt: Date }> {
  if ((await countUnused(tx, deploymentId)) >= maxUnused) {
    const what = `${maxUnused} archives of this deployment are not used by a revision yet`
    throw new TooManyRequests(`${what}: use one as source_tarball_path, or retry later`, addressMs)
  }
  const uploadId = newId()
  const row = await insertUpload(tx, { uploadId, deploymentId, addressMs })
  if (!row) throw new Error("the new upload was not stored")
  return { objectPath: objectPathOf(deploymentId, uploadId), expiresAt: row.expires_at }
}

// A client that is this slow has given up long ago.
const receiveMs = 30 * 60_000

/**
 * Receives the archive for an address whose signature was checked.
 * @throws NotFound | TooLarge | Unavailable
 * @throws Conflict  the address was used already
 */
export async function takeArchive(
  db: Database,
  input: {
    objectPath: string
    body: ReadableStream<Uint8Array> | null
    crashPoint?: ((name: string) => void) | undefined
  },
): Promise<Received> {
  const { objectPath, body, crashPoint } = input
  const ids = parseObjectPath(objectPath)
  const upload = ids && (await uploadById(db, ids))
  if (!upload) throw isGone()
  if (upload.stored_at) throw alreadyUsed()
  const transfer = { uploadId: upload.upload_id, transferId: newId() }
  try {
    const received = await receive(body ? Readable.fromWeb(body) : Readable.from([]), {
      maxBytes: maxArchiveBytes,
      signal: AbortSignal.timeout(receiveMs),
      store: (number, bytes) => insertPiece(db, { ...transfer, number, bytes }),
    })
    crashPoint?.("upload:after-receive")
    await db.transaction(async (tx) => {
      await complete(tx, transfer, received)
      crashPoint?.("upload:after-row")
    })
    return received
  } catch (error) {
    await abandon(db, transfer)
    throw isSqlState(error, sqlState.foreignKeyViolation) ? isGone() : error
  }
}

const isGone = () => new NotFound("The deployment of this address does not exist any more.")

const alreadyUsed = () =>
  new Conflict("an archive was uploaded to this address already: request a new address", "already_uploaded")

async function complete(tx: Db, transfer: Transfer, received: Received): Promise<void> {
  const held = await lockUpload(tx, transfer.uploadId)
  if (!held) throw isGone()
  if (held.stored_at) throw alreadyUsed()
  await markStored(tx, transfer, received)
}

/** Deletes what a failed transfer has stored, unless its commit was reported as lost and was none the less made. */
const abandon = (db: Database, transfer: Transfer): Promise<void> =>
  db.transaction(async (tx) => {
    // Waits for that commit.
    const held = await lockUpload(tx, transfer.uploadId)
    if (held?.transfer_id !== transfer.transferId) await deletePieces(tx, transfer)
  })

/**
 * Uses an archive, named by its object path, for this deployment only. The caller holds the deployment.
 * @throws Refused
 */
export async function useArchive(tx: Db, deploymentId: string, objectPath: string): Promise<void> {
  const ids = parseObjectPath(objectPath)
  if (ids?.deploymentId === deploymentId && (await markUsed(tx, ids)) > 0) return
  throw new Refused(
    "source_tarball_path is not the object_path of an archive that was uploaded for this deployment",
    "unknown_upload",
  )
}

/** @returns  undefined when this deployment has no such archive */
export async function findArchive(db: Db, deploymentId: string, objectPath: string): Promise<Upload | undefined> {
  const ids = parseObjectPath(objectPath)
  if (ids?.deploymentId !== deploymentId) return undefined
  const upload = await uploadById(db, ids)
  return upload?.stored_at ? upload : undefined
}

/** Deletes archives that nothing needs any more, and what failed transfers of killed processes have left (U3). */
export async function removeOldArchives(db: Db): Promise<void> {
  await removeUnsent(db)
  await markUnneeded(db)
  await deleteOldPieces(db, 2 * receiveMs)
}
