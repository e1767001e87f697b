/** The state of a thread after the checkpoints of one of its runs were deleted. */
import { parsedJson, toJsonText } from "@superstep/toolkit/http/json"
import { anyone } from "../auth/caller.js"
import { findVersion } from "../threads/queries.js"
import { getThreadState, newestState } from "../threads/state-operations.js"
import type { Runs } from "./parts.js"
import { showState } from "./queries.js"

interface State {
  readonly values: unknown
  readonly next: readonly string[]
  readonly created_at: string | null
  readonly tasks: readonly { readonly id: string; readonly interrupts?: readonly unknown[] }[]
}

/**
 * Computes the state again and writes it to the thread's row, unless a run or an update has changed the thread meanwhile
 * and so written the right state.
 */
export async function showRemainingState({ db, workers }: Runs, threadId: string): Promise<void> {
  const thread = await findVersion(db, threadId)
  if (!thread || thread.is_busy) return
  const asked = { ...newestState, subgraphs: false, select: undefined }
  const found = await getThreadState({ db, workers }, anyone, threadId, asked)
  const state = parsedJson(found) as State
  const open = state.tasks.filter(({ interrupts = [] }) => interrupts.length > 0)
  await showState(db, threadId, {
    version: thread.version,
    // A thread without a checkpoint has no values yet.
    values: state.created_at === null ? null : toJsonText(state.values),
    interrupts: toJsonText(Object.fromEntries(open.map(({ id, interrupts }) => [id, interrupts]))),
    status: state.next.length === 0 ? "idle" : "interrupted",
  })
}
