/**
 * One effect for one key: the effect and what was answered commit together. A repeated request gets the first one's
 * answer, also when both come at once and when the process died before it answered. A request that failed left nothing
 * behind and may be tried again under its key.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { within } from "@superstep/toolkit/db/within"
import { type Answered, findAnswer, forgetOldKeys, storeAnswer, takeKey } from "./queries.js"

/** A request that may come again. */
export interface RequestKey {
  readonly keySha256: Buffer
  readonly requestSha256: Buffer
  /** What to throw when the key came with another request before. */
  readonly otherRequest: () => Error
}

export type Answer = Omit<Answered, "requestSha256">

export interface Outcome {
  readonly answer: Answer
  /** It was given before: nothing was done this time. */
  readonly isRepeated: boolean
}

/**
 * What the request was answered before, if it was.
 * @throws what `otherRequest` says, when the key is that of another request
 */
export async function answeredBefore(db: Database, key: RequestKey | undefined): Promise<Answer | undefined> {
  if (key === undefined) return undefined
  const answer = await findAnswer(db, key.keySha256)
  if (answer && !answer.requestSha256.equals(key.requestSha256)) throw key.otherRequest()
  return answer
}

/**
 * Does the work in one transaction with its key, or tells what it gave before.
 * @param work  uses only the database that it is given; one of its own transactions becomes a part of this one
 */
export async function answerOnce(
  db: Database,
  key: RequestKey,
  work: (db: Database) => Promise<Answer>,
): Promise<Outcome> {
  const before = await answeredBefore(db, key)
  if (before) return { answer: before, isRepeated: true }
  const first = await db.transaction(async (tx) => {
    await forgetOldKeys(tx)
    if (!(await takeKey(tx, key.keySha256, key.requestSha256))) return undefined
    const answer = await work(within(db, tx))
    await storeAnswer(tx, key.keySha256, answer)
    return answer
  })
  if (first) return { answer: first, isRepeated: false }
  // Another request took it while this one looked.
  const answer = await answeredBefore(db, key)
  if (!answer) throw new Error("an idempotency key that was taken has no answer")
  return { answer, isRepeated: true }
}
