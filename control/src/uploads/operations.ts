/**
 * Issues upload addresses for archives, receives the archives, and finds those that a revision may use.
 * U1 an address is for one deployment, one archive and 15 minutes; U2 an archive is complete or absent: it is written under
 * another name and renamed in the transaction that records it; U3 a file is deleted when nothing needs it.
 */
import { randomUUID } from "node:crypto"
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import type { ReadableStream } from "node:stream/web"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound, Refused, TooManyRequests } from "@superstep/toolkit/errors/errors"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { v7 as newId } from "uuid"
import {
  countUnused,
  insertUpload,
  lockUpload,
  markStored,
  markUnneeded,
  markUsed,
  removeUnsent,
  uploadById,
  uploadIdsWithFile,
  uploadsOf,
} from "./queries.js"
import { type Received, receive } from "./receive.js"
import { addressMs, maxArchiveBytes, maxUnused, objectPathOf, parseObjectPath, type Upload } from "./upload.js"

/** The path of a complete archive. */
export const archiveFile = (folder: string, uploadId: string): string => join(folder, `${uploadId}.tar.gz`)

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
    folder: string
    body: ReadableStream<Uint8Array> | null
    crashPoint?: ((name: string) => void) | undefined
  },
): Promise<Received> {
  const { objectPath, folder, body, crashPoint } = input
  const ids = parseObjectPath(objectPath)
  const upload = ids && (await uploadById(db, ids))
  if (!upload) throw new NotFound("The deployment of this address does not exist any more.")
  if (upload.stored_at) throw alreadyUsed()
  const partial = join(folder, `${upload.upload_id}.${randomUUID()}.partial`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const received = await receive(body, {
      file: partial,
      maxBytes: maxArchiveBytes,
      signal: AbortSignal.timeout(receiveMs),
    })
    crashPoint?.("upload:after-receive")
    await db.transaction(async (tx) => {
      await store(tx, upload, { partial, folder, received })
      crashPoint?.("upload:after-file")
    })
    return received
  } finally {
    await rm(partial, { force: true })
  }
}

const alreadyUsed = () =>
  new Conflict("an archive was uploaded to this address already: request a new address", "already_uploaded")

/** Replaces a file that a killed process renamed and did not record: no client got an answer about it (U2). */
async function store(
  tx: Db,
  { upload_id: uploadId }: Upload,
  { partial, folder, received }: { partial: string; folder: string; received: Received },
): Promise<void> {
  const held = await lockUpload(tx, uploadId)
  if (!held) throw new NotFound("The deployment of this address does not exist any more.")
  if (held.stored_at) throw alreadyUsed()
  await rename(partial, archiveFile(folder, uploadId))
  await markStored(tx, uploadId, received)
}

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

/** Deletes the files of a deployment that is being deleted; its rows are deleted with it. */
export async function removeArchivesOf(db: Db, folder: string, deploymentId: string): Promise<void> {
  for (const { upload_id } of await uploadsOf(db, deploymentId))
    await rm(archiveFile(folder, upload_id), { force: true })
}

const abandonedMs = 2 * receiveMs

/** Deletes archives that nothing needs any more, and leftovers of killed processes (U3). */
export async function removeOldArchives(db: Db, folder: string): Promise<void> {
  await removeUnsent(db)
  await markUnneeded(db)
  // Listed before the query: a file that is added later has its row by then.
  const present = await readdir(folder).catch(ifCode(["ENOENT"], []))
  const needed = await uploadIdsWithFile(db)
  for (const name of present) {
    const file = join(folder, name)
    const isOver = name.endsWith(".partial") ? await isOlder(file, abandonedMs) : !needed.has(name.slice(0, 36))
    if (isOver) await rm(file, { force: true })
  }
}

/** Deletes incomplete archives of a process that has died. No other process may be receiving. */
export async function removePartialArchives(folder: string): Promise<void> {
  const present = await readdir(folder).catch(ifCode(["ENOENT"], []))
  for (const name of present) if (name.endsWith(".partial")) await rm(join(folder, name), { force: true })
}

const isOlder = async (file: string, ms: number): Promise<boolean> => {
  const found = await stat(file).catch(ifCode(["ENOENT"]))
  return found !== undefined && found.mtimeMs < Date.now() - ms
}
