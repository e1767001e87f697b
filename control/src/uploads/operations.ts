/**
 * Hands out addresses for archives, takes the archives, and tells which a revision may be made of.
 * U1 an address is for one deployment, one archive and a quarter of an hour; U2 an archive is complete or absent: it
 * is written beside its name and renamed in the transaction that says so; U3 a file goes when nobody needs it.
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

/** Where an archive is, once it is complete. */
export const archiveFile = (folder: string, uploadId: string): string => join(folder, `${uploadId}.tar.gz`)

/**
 * @param deploymentId  of a deployment that the caller holds
 * @throws TooManyRequests  archives wait that no revision was made of
 */
export async function offerUpload(tx: Db, deploymentId: string): Promise<{ objectPath: string; expiresAt: Date }> {
  if ((await countUnused(tx, deploymentId)) >= maxUnused) {
    const what = `${maxUnused} archives of this deployment wait to be used`
    throw new TooManyRequests(`${what}: name one as source_tarball_path, or come back later`, addressMs)
  }
  const uploadId = newId()
  const row = await insertUpload(tx, { uploadId, deploymentId, addressMs })
  if (!row) throw new Error("an inserted upload gave no row")
  return { objectPath: objectPathOf(deploymentId, uploadId), expiresAt: row.expires_at }
}

// A client that is this slow has given up long ago.
const receiveMs = 30 * 60_000

/**
 * Takes the archive of an address whose signature was checked.
 * @throws NotFound | TooLarge | Unavailable
 * @throws Conflict  the address was used
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
  if (!upload) throw new NotFound("The deployment of this address is gone.")
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
  new Conflict("an archive was sent to this address already: ask for another one", "already_uploaded")

/** A file that a killed process renamed and did not record is replaced: nobody was told of it (U2). */
async function store(
  tx: Db,
  { upload_id: uploadId }: Upload,
  { partial, folder, received }: { partial: string; folder: string; received: Received },
): Promise<void> {
  const held = await lockUpload(tx, uploadId)
  if (!held) throw new NotFound("The deployment of this address is gone.")
  if (held.stored_at) throw alreadyUsed()
  await rename(partial, archiveFile(folder, uploadId))
  await markStored(tx, uploadId, received)
}

/**
 * An archive is named by what its address was given for, and only for this deployment. The deployment is held.
 * @throws Refused
 */
export async function useArchive(tx: Db, deploymentId: string, objectPath: string): Promise<void> {
  const ids = parseObjectPath(objectPath)
  if (ids?.deploymentId === deploymentId && (await markUsed(tx, ids)) > 0) return
  throw new Refused(
    "source_tarball_path is no object_path under which an archive was uploaded for this deployment",
    "unknown_upload",
  )
}

/** @returns undefined when nothing was stored under it for this deployment */
export async function findArchive(db: Db, deploymentId: string, objectPath: string): Promise<Upload | undefined> {
  const ids = parseObjectPath(objectPath)
  if (ids?.deploymentId !== deploymentId) return undefined
  const upload = await uploadById(db, ids)
  return upload?.stored_at ? upload : undefined
}

/** The files of a deployment that is being removed; its rows go with it. */
export async function removeArchivesOf(db: Db, folder: string, deploymentId: string): Promise<void> {
  for (const { upload_id } of await uploadsOf(db, deploymentId))
    await rm(archiveFile(folder, upload_id), { force: true })
}

const abandonedMs = 2 * receiveMs

/** Removes what nobody needs any more, and what killed processes left (U3). */
export async function removeOldArchives(db: Db, folder: string): Promise<void> {
  await removeUnsent(db)
  await markUnneeded(db)
  // Listed first: a file that comes later has its row by then.
  const present = await readdir(folder).catch(ifCode(["ENOENT"], []))
  const needed = await uploadIdsWithFile(db)
  for (const name of present) {
    const file = join(folder, name)
    const isOver = name.endsWith(".partial") ? await isOlder(file, abandonedMs) : !needed.has(name.slice(0, 36))
    if (isOver) await rm(file, { force: true })
  }
}

/** Removes what was on its way to a process that has died. Nobody else may be receiving. */
export async function removePartialArchives(folder: string): Promise<void> {
  const present = await readdir(folder).catch(ifCode(["ENOENT"], []))
  for (const name of present) if (name.endsWith(".partial")) await rm(join(folder, name), { force: true })
}

const isOlder = async (file: string, ms: number): Promise<boolean> => {
  const found = await stat(file).catch(ifCode(["ENOENT"]))
  return found !== undefined && found.mtimeMs < Date.now() - ms
}
