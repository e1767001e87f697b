/**
 * Who deleted what, and who gave a thread a time to live (decision 94). A thing that is gone can keep no act, so it is kept among those that the
 * control plane has not confirmed yet, and from then on in its audit log.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { storableText } from "@superstep/toolkit/text/storable"
import type { Caller } from "../auth/caller.js"
import { insertActsOnThings } from "./queries.js"

export interface DeletedThing {
  /** checkpoints: the older ones of a thread. */
  readonly type: "thread" | "checkpoints" | "run" | "assistant" | "cron" | "store_item"
  readonly id: string
  /** By which people know it, where it has such a name. */
  readonly name?: string
  /** Of a run. */
  readonly threadId?: string
  /** Of an assistant: how many threads were deleted with it. */
  readonly threads?: number
}

/**
 * Deletes something and records who did, in one transaction. For a caller that is no person, it is the deletion alone.
 * @param thingsOf  what the work has deleted
 */
export async function recordedDeletion<T>(
  db: Database,
  caller: Caller,
  work: (tx: Db) => Promise<T>,
  thingsOf: (result: T) => readonly DeletedThing[],
): Promise<T> {
  if (caller.seen?.person === undefined) return work(db)
  return db.transaction(async (tx) => {
    const result = await work(tx)
    await recordDeletions(tx, caller, thingsOf(result))
    return result
  })
}

// Keys and names are the users', and may be long.
const longestId = 500
const longestName = 200

/** Records what a person deleted; nothing for another caller. */
export async function recordDeletions(tx: Db, { seen }: Caller, things: readonly DeletedThing[]): Promise<void> {
  if (seen?.person === undefined || things.length === 0) return
  const storable = things.map(({ type, id, name, threadId, threads = 0 }) => ({
    type,
    id: storableText(id, longestId),
    name: name === undefined ? null : storableText(name, longestName) + (threads === 0 ? "" : `, threads: ${threads}`),
    threadId: threadId ?? null,
  }))
  await insertActsOnThings(tx, { kind: "delete", person: seen.person }, storable)
}

/** Records that a person gave a thread a time to live, since what expires is deleted by nobody; nothing for another caller. */
export async function recordTimeToLive(
  tx: Db,
  { seen }: Caller,
  threadId: string,
  { minutes, strategy }: { readonly minutes: number; readonly strategy: string },
): Promise<void> {
  if (seen?.person === undefined) return
  const name = `${strategy} after ${minutes} minutes`
  await insertActsOnThings(tx, { kind: "expire", person: seen.person }, [
    { type: "thread", id: threadId, name, threadId },
  ])
}
