/** Archives of releases before 0.2, which kept them as files of the data folder. */
import { createReadStream } from "node:fs"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { Db } from "@superstep/toolkit/db/database"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { v7 as newId } from "uuid"
import { insertPiece } from "./piece-queries.js"
import { isFormerFile, setTransfer } from "./queries.js"
import { receive } from "./receive.js"

/**
 * Stores the archives in the database. A killed call is repeated.
 * @param folder  may be missing
 */
export async function storeFormerFiles(db: Db, folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    const [, uploadId] = /^([0-9a-f-]{36})\.tar\.gz$/.exec(name) ?? []
    if (uploadId === undefined || !(await isFormerFile(db, uploadId))) continue
    const transfer = { uploadId, transferId: newId() }
    await receive(createReadStream(join(folder, name)), {
      maxBytes: Number.POSITIVE_INFINITY,
      store: (number, bytes) => insertPiece(db, { ...transfer, number, bytes }),
    })
    await setTransfer(db, transfer)
  }
}

/** Call it when no former release can come back, as it does after a failed take-over. */
export async function removeFormerFiles(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) await rm(join(folder, name))
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(ifCode(["ENOENT"], []))
