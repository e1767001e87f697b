/**
 * One effect per key: the effect and its stored reply commit together. A repeated request gets the reply of the first one,
 * also when both arrive at once or when the process died before it replied. A failed request changes nothing and may be
 * retried with its key.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { within } from "@superstep/toolkit/db/within"
import { type Answered, deleteOldKeys, findAnswer, storeAnswer, takeKey } from "./queries.js"

/** Identifies a request that may be repeated. */
export interface RequestKey {
  readonly keySha256: Buffer
  readonly requestSha256: Buffer
  /** Makes the error for a key that was used for a different request. */
  readonly otherRequest: () => Error
}

export type Answer = Omit<Answered, "requestSha256">

export interface Outcome {
  readonly answer: Answer
  /** The reply was stored by an earlier request; this one did nothing. */
  readonly isRepeated: boolean
}

/**
 * The stored reply of an earlier request with this key.
 * @throws  the error of `otherRequest`, when the key was used for a different request
 */
export async function answeredBefore(db: Database, key: RequestKey | undefined): Promise<Answer | undefined> {
  if (key === undefined) return undefined
  const answer = await findAnswer(db, key.keySha256)
  if (answer && !answer.requestSha256.equals(key.requestSha256)) throw key.otherRequest()
  return answer
}

/**
 * Does the work and stores its reply in one transaction, or returns the stored reply.
 * @param work  uses only the database that it receives; a transaction of its own becomes a part of this one
 */
export async function answerOnce(
  db: Database,
  key: RequestKey,
  work: (db: Database) => Promise<Answer>,
): Promise<Outcome> {
  const before = await answeredBefore(db, key)
  if (before) return { answer: before, isRepeated: true }
  const first = await db.transaction(async (tx) => {
    await deleteOldKeys(tx)
    if (!(await takeKey(tx, key.keySha256, key.requestSha256))) return undefined
    const answer = await work(within(db, tx))
    await storeAnswer(tx, key.keySha256, answer)
    return answer
  })
  if (first) return { answer: first, isRepeated: false }
  // Another request took the key in the meantime.
  const answer = await answeredBefore(db, key)
  if (!answer) throw new Error("an idempotency key that is in use has no stored reply")
  return { answer, isRepeated: true }
}
