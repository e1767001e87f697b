/** A client may answer a question as soon as it reads it, and then the run that asks has not ended yet: other tasks of its step execute. */
import type { Caller } from "../auth/caller.js"
import { AwaitedEnd } from "../events/awaited-end.js"
import { joinRun, leaveRun, type Runs } from "../runs/operations.js"
import { CommandFailed } from "./command.js"
import { findAskingRun } from "./queries.js"

// A run usually ends within milliseconds of its question. The commands of a socket wait for each other, so this must end.
const maxWaitMs = 30_000

/**
 * Resolves when the run that asks one of these questions is over; at once when no run that executes has asked them.
 * @throws CommandFailed  the run executes longer than a client should wait: its question is open, and can be answered later
 */
export async function untilAsked(
  runs: Runs,
  { caller, threadId, interruptIds }: { caller: Caller; threadId: string; interruptIds: readonly string[] },
): Promise<void> {
  const runId = await findAskingRun(runs.db, threadId, interruptIds)
  if (runId === undefined) return
  const subscriber = new AwaitedEnd()
  await joinRun(runs, { caller, threadId, runId, subscriber, after: undefined })
  const timer = setTimeout(() => {
    leaveRun(runs, { threadId, runId, subscriber, cancel: false })
    subscriber.end()
  }, maxWaitMs)
  await subscriber.over.finally(() => clearTimeout(timer))
  if (!subscriber.hasEnd) throw new CommandFailed("invalid_argument", notInterrupted)
}

const notInterrupted = "input.respond can only be used while the run is interrupted."
