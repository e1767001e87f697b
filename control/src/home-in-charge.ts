/**
 * The data folder that a database belongs to. The folder's own lock keeps a second process from it (`home.ts`); this keeps
 * a second folder from the database, on whichever machine it is.
 */
import type { Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { HomeInUse } from "./home.js"
import { leaveToOthers, takeForHome } from "./home-queries.js"
import { repeated } from "./pipeline/repeated.js"

const tellEveryMs = 5000
// Six times that: a database that is away for a moment gives it to nobody else.
const silentSeconds = 30

/**
 * Takes the database for a folder, unless another one has it.
 * @throws HomeInUse  the control plane of another folder was there less than half a minute ago
 */
export async function takeDatabase(db: Db, homeId: string): Promise<void> {
  if (await takeForHome(db, homeId, silentSeconds)) return
  throw new HomeInUse(
    `the control plane of another data folder works on this database: stop it, or name another database in DATABASE_URI (after a kill, wait ${silentSeconds} s)`,
  )
}

/** @returns ends it, and leaves the database to whoever comes */
export function stayInCharge({ db, log }: { db: Db; log: Log }, homeId: string): () => Promise<void> {
  const telling = repeated(async () => {
    try {
      // The former process of this folder may have left it as this one came.
      if (!(await takeForHome(db, homeId, silentSeconds)))
        log.error({}, "the database belongs to another data folder by now: stop one of the two")
    } catch (err) {
      log.warn({ err }, "the database could not be told that this data folder has it; it is tried again")
    }
  }, tellEveryMs)
  telling.wake()
  return async () => {
    await telling.stop()
    try {
      await leaveToOthers(db, homeId)
    } catch (err) {
      log.warn({ err }, "the database could not be told that this data folder leaves it: another one has to wait")
    }
  }
}
