/**
 * One process is in charge of a database. The folder's own lock excludes a second process on it (`home.ts`); this excludes a second
 * folder on the database, and lets processes of one installation stand by on other computers.
 * P1 One process is in charge. P2 Whoever takes over first ends all database sessions of the former one. P3 A process that is not in
 * charge gets no new session: it cannot write, wherever it was when it stopped.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { pause } from "@superstep/toolkit/exec/pause"
import { repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import { HomeInUse } from "./home.js"
import {
  type Candidate,
  endOtherSessions,
  enterSession,
  homeInCharge,
  namesProcesses,
  releaseForProcess,
  renewForProcess,
  takeForProcess,
} from "./home-queries.js"

export type { Candidate } from "./home-queries.js"

const tellEveryMs = 5000
// After a short loss of the database, it is not given to another folder; one's own successor need not wait that long. One that is in
// charge opens its first session a moment after it has taken over.
const silence = { ofOtherHome: 30, ofOwnHome: 15, ofTheDead: 3 }
const tryEveryMs = 1000
const endingMs = 50

/** The home of all processes that share a place: who reaches the database belongs to the installation. */
export const sharedHome = "shared"

/** Another process has taken over: this one has to end. */
export class NotInCharge extends KnownError {
  readonly code = "not_in_charge"
}

/** It was stopped while it stood by. */
export class StoppedStandingBy extends KnownError {
  readonly code = "stopped_standing_by"
}

export interface Waiting {
  /** Called once, when another process of the same home is in charge. */
  readonly onStandBy: () => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Takes the database, unless the process of another home has it; one that stands by waits until its own home's process is gone. Of a
 * database without the table, or of an older release, only the former is checked: call it again after the migration.
 * @throws HomeInUse          the control plane of another folder used it less than half a minute ago
 * @throws StoppedStandingBy  the signal was aborted meanwhile
 */
export async function takeDatabase(db: Db, candidate: Candidate, waiting?: Waiting): Promise<void> {
  let isStandingBy = false
  for (;;) {
    const canTake = await namesProcesses(db)
    if (canTake && (await takeForProcess(db, candidate, silence))) break
    const other = await homeInCharge(db, silence.ofOtherHome)
    if (other !== undefined && other !== candidate.homeId && other !== candidate.restoredFrom) throw inUse()
    if (!canTake) return
    if (!candidate.standsBy || !waiting) continue
    if (!isStandingBy) await waiting.onStandBy()
    isStandingBy = true
    if (!(await pause(tryEveryMs, waiting.signal)))
      throw new StoppedStandingBy("the control plane was stopped while it stood by")
  }
  const patient = new AbortController().signal
  while ((await endOtherSessions(db, candidate.processId)) > 0) await pause(endingMs, patient)
}

const inUse = () =>
  new HomeInUse(
    `the control plane of another data folder uses this database: stop it, or set another database in DATABASE_URI (after a kill, wait ${silence.ofOtherHome} s)`,
  )

/**
 * For each new session of the process in charge (P3).
 * @param onLost  called when it is no longer in charge
 */
export const sessionInCharge =
  (processId: string, onLost: (error: NotInCharge) => void) =>
  async (session: Db): Promise<void> => {
    if (await enterSession(session, processId)) return
    const error = notInCharge()
    onLost(error)
    throw error
  }

const notInCharge = () => new NotInCharge("another control plane is in charge of the database now: this one ends")

/**
 * @param onLost  called when the process is no longer in charge
 * @returns       a function that stops it, and leaves the database to the next one
 */
export function stayInCharge(
  { db, log }: { db: Db; log: Log },
  processId: string,
  onLost: (error: NotInCharge) => void,
): () => Promise<void> {
  const renewal = repeated(async () => {
    try {
      if (!(await renewForProcess(db, processId))) onLost(notInCharge())
    } catch (err) {
      log.warn({ err }, "the registration of this data folder in the database could not be renewed; retrying")
    }
  }, tellEveryMs)
  renewal.wake()
  return async () => {
    await renewal.stop()
    try {
      await releaseForProcess(db, processId)
    } catch (err) {
      log.warn(
        { err },
        "the registration of this data folder in the database could not be removed: another data folder has to wait until it expires",
      )
    }
  }
}
