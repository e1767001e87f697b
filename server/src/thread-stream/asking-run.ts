/** A client may answer a question as soon as it reads it, and then the run that asks has not ended yet: other tasks of its step execute. */
import { type Runs, waitForEnd } from "../runs/operations.js"
import { CommandFailed } from "./command.js"
import { findAskingRun } from "./queries.js"

// A run usually ends within milliseconds of its question. The commands of a socket wait for each other, so this must end.
const maxWaitMs = 30_000

/**
 * Resolves when the run that asks one of these questions is over or gone; at once when no run that executes has asked them.
 * @throws CommandFailed  the run executes longer than a client should wait: its question is open, and can be answered later
 */
export async function untilAsked(
  runs: Runs,
  { threadId, interruptIds }: { readonly threadId: string; readonly interruptIds: readonly string[] },
): Promise<void> {
  const runId = await findAskingRun(runs.db, threadId, interruptIds)
  if (runId === undefined) return
  const timeout = AbortSignal.timeout(maxWaitMs)
  await waitForEnd(runs, runId, timeout)
  // The waiting also ends when this server stops.
  if (timeout.aborted || (await findAskingRun(runs.db, threadId, interruptIds)) !== undefined)
    throw new CommandFailed("invalid_argument", "input.respond can only be used while the run is interrupted.")
}
