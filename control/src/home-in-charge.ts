/**
 * Registers a data folder as the only user of a database. The folder's own lock excludes a second process on it (`home.ts`);
 * this excludes a second folder on the database, on any machine.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import { HomeInUse } from "./home.js"
import { releaseHome, takeForHome } from "./home-queries.js"

const tellEveryMs = 10_000
// Three times that: after a short loss of the database, it is not given to another folder.
const silentSeconds = 30

/**
 * Takes the database for a folder, unless another one has it.
 * @throws HomeInUse  the control plane of another folder used it less than half a minute ago
 */
export async function takeDatabase(db: Db, homeId: string): Promise<void> {
  if (await takeForHome(db, homeId, silentSeconds)) return
  throw new HomeInUse(
    `the control plane of another data folder uses this database: stop it, or set another database in DATABASE_URI (after a kill, wait ${silentSeconds} s)`,
  )
}

/** @returns  a function that stops it, and leaves the database to the next folder */
export function stayInCharge({ db, log }: { db: Db; log: Log }, homeId: string): () => Promise<void> {
  const renewal = repeated(async () => {
    try {
      // The former process of this folder may have released it just as this one started.
      if (!(await takeForHome(db, homeId, silentSeconds)))
        log.error({}, "another data folder uses the database now: stop one of the two")
    } catch (err) {
      log.warn({ err }, "the registration of this data folder in the database could not be renewed; retrying")
    }
  }, tellEveryMs)
  renewal.wake()
  return async () => {
    await renewal.stop()
    try {
      await releaseHome(db, homeId)
    } catch (err) {
      log.warn(
        { err },
        "the registration of this data folder in the database could not be removed: another data folder has to wait until it expires",
      )
    }
  }
}
