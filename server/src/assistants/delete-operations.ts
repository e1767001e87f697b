/** Deleting an assistant, with or without the threads on which it ran. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { Caller } from "../auth/caller.js"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import type { RunStreams } from "../events/run-streams.js"
import { deleteThreads, lockThreadsOf } from "../threads/deletion-queries.js"
import type { Workers } from "../workers/port.js"
import { assistantIdOf } from "./assistant.js"
import { deleteAssistant as deleteInDatabase, lockAssistant } from "./queries.js"

export interface AssistantDeletion {
  readonly db: Database
  readonly workers: Pick<Workers, "report">
  readonly streams: Pick<RunStreams, "announceEnd">
}

/**
 * Deletes an assistant and its versions. Its runs stay, and those in flight go on: a run has taken from its assistant all
 * that it needs. With `deleteThreads` the threads go too, with their runs and checkpoints, and what runs there is stopped.
 * A graph's own assistant comes back when the server starts again.
 * @returns the assistant's id
 * @throws NotFound  there is none, or the caller may not see it
 */
export async function deleteAssistant(
  { db, workers, streams }: AssistantDeletion,
  caller: Caller,
  name: string,
  options: { deleteThreads: boolean },
): Promise<string> {
  const asked = { assistant_id: assistantIdOf(name, workers.report().graphs) }
  const { value, filter } = await caller.authorize("assistants:delete", asked)
  // Threads may belong to others than the assistant does, so they have conditions of their own.
  const threads = options.deleteThreads ? await caller.authorize("threads:delete", asked) : undefined
  const stopped = await db.transaction(async (tx) => {
    if (!(await lockAssistant(tx, value.assistant_id, filter))) throw new NotFound("Assistant not found")
    await deleteInDatabase(tx, value.assistant_id)
    return threads ? deleteThreadsOf(tx, value.assistant_id, threads.filter) : []
  })
  for (const runId of stopped) await streams.announceEnd(runId, "interrupted")
  return value.assistant_id
}

async function deleteThreadsOf(tx: Db, assistantId: string, filter: MetadataFilter | undefined): Promise<string[]> {
  return deleteThreads(tx, await lockThreadsOf(tx, assistantId, filter))
}
