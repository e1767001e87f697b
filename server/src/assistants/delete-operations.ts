/** Deleting an assistant, with or without the threads on which it ran. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { requireApproval } from "../acts/act.js"
import { recordDeletions } from "../acts/deletions.js"
import type { Caller } from "../auth/caller.js"
import type { Streams } from "../events/streams.js"
import type { Peers } from "../servers/peers.js"
import { type DeletedThread, deleteThreads, lockThreadsOf } from "../threads/deletion-queries.js"
import { endDeleted } from "../threads/operations.js"
import type { Workers } from "../workers/port.js"
import { assistantIdOf } from "./assistant.js"
import { deleteAssistant as deleteInDatabase, lockAssistant, untilNoneIsCreated } from "./queries.js"

// Few enough for a short transaction, whose threads and assistant others wait for.
const portion = 100

export interface AssistantDeletion {
  readonly db: Database
  readonly workers: Pick<Workers, "report">
  readonly streams: Pick<Streams, "announceEnd" | "announceGone">
  readonly peers: Pick<Peers, "stopRun">
}

/**
 * Deletes an assistant and its versions. Its runs stay, and those in flight go on: a run has copied everything that it needs
 * from its assistant. With `deleteThreads` the threads are deleted too, with their runs and checkpoints, and running runs are
 * stopped. They go in portions, and the assistant after them, so that a repeated request finishes one that has failed; then those whose runs
 * were being created meanwhile. A graph's own assistant is created again when the server restarts.
 * @returns the assistant's id
 * @throws NotFound  no such assistant, or the caller may not see it
 * @throws Forbidden  with `deleteThreads`, and the person may not approve
 */
export async function deleteAssistant(
  { db, workers, streams, peers }: AssistantDeletion,
  caller: Caller,
  name: string,
  options: { deleteThreads: boolean },
): Promise<string> {
  if (options.deleteThreads) requireApproval(caller, "the deletion of threads")
  const asked = { assistant_id: assistantIdOf(name, workers.report().graphs) }
  const { value, filter } = await caller.authorize("assistants:delete", asked)
  // Threads may have another owner than the assistant, so they have their own access rules.
  const threads = options.deleteThreads ? await caller.authorize("threads:delete", asked) : undefined
  const takePortion = async (tx: Db) => {
    if (!threads) return { gone: [], isAll: true }
    const { threadIds, isAll } = await lockThreadsOf(tx, value.assistant_id, { filter: threads.filter, most: portion })
    return { gone: await deleteThreads(tx, threadIds), isAll }
  }
  // With each portion: what that deletes is gone, also when no other follows.
  const recordThreads = (tx: Db, gone: readonly DeletedThread[]) =>
    recordDeletions(
      tx,
      caller,
      gone.map(({ threadId }) => ({ type: "thread", id: threadId, threadId })),
    )
  const inPortions = async (take: (tx: Db) => Promise<{ gone: readonly DeletedThread[]; isAll: boolean }>) => {
    for (let isOver = false; !isOver; ) {
      const { gone, isAll } = await db.transaction(take)
      for (const thread of gone) await endDeleted({ streams, peers }, thread)
      isOver = isAll
    }
  }
  await inPortions(async (tx) => {
    const assistant = await lockAssistant(tx, value.assistant_id, filter)
    if (!assistant) throw new NotFound("Assistant not found")
    const { gone, isAll } = await takePortion(tx)
    if (!isAll) await recordThreads(tx, gone)
    else {
      const { assistant_id: id, name } = assistant
      await deleteInDatabase(tx, id)
      await recordDeletions(tx, caller, [{ type: "assistant", id, name, threads: gone.length }])
    }
    return { gone, isAll }
  })
  if (!threads) return value.assistant_id
  // The creation of a run does not wait for the lock on its assistant, so one may have brought another thread.
  await untilNoneIsCreated(db, value.assistant_id)
  await inPortions(async (tx) => {
    const { gone, isAll } = await takePortion(tx)
    await recordThreads(tx, gone)
    return { gone, isAll }
  })
  return value.assistant_id
}
