/** Deleting an assistant, with or without the threads on which it ran. */
import type { Database } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { requireApproval } from "../acts/act.js"
import { type DeletedThing, recordDeletions } from "../acts/deletions.js"
import type { Caller } from "../auth/caller.js"
import type { Streams } from "../events/streams.js"
import type { Peers } from "../servers/peers.js"
import { deleteThreads, lockThreadsOf } from "../threads/deletion-queries.js"
import { endDeleted } from "../threads/operations.js"
import type { Workers } from "../workers/port.js"
import { assistantIdOf } from "./assistant.js"
import { deleteAssistant as deleteInDatabase, lockAssistant } from "./queries.js"

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
 * stopped. They go in portions, and the assistant last, so that a repeated request finishes one that has failed. A graph's own assistant is
 * created again when the server restarts.
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
  let [isGone, isOver] = [false, false]
  while (!isOver) {
    const deleted = await db.transaction(async (tx) => {
      const assistant = isGone ? undefined : await lockAssistant(tx, value.assistant_id, filter)
      if (!assistant && !isGone) throw new NotFound("Assistant not found")
      const locked = threads && (await lockThreadsOf(tx, value.assistant_id, { filter: threads.filter, most: portion }))
      const gone = locked ? await deleteThreads(tx, locked.threadIds) : []
      const isAll = locked?.isAll !== false
      if (assistant && isAll) await deleteInDatabase(tx, value.assistant_id)
      // With each portion: what that deletes is gone, also when no other follows.
      const things: DeletedThing[] =
        assistant && isAll
          ? [{ type: "assistant", id: assistant.assistant_id, name: assistant.name, threads: gone.length }]
          : gone.map(({ threadId }) => ({ type: "thread", id: threadId, threadId }))
      await recordDeletions(tx, caller, things)
      // The creation of a run does not wait for the lock on its assistant, so one may have brought another thread until now.
      isOver = isAll && (isGone || !threads)
      isGone ||= isAll
      return gone
    })
    for (const thread of deleted) await endDeleted({ streams, peers }, thread)
  }
  return value.assistant_id
}
