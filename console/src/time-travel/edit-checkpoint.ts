/** Edits the state of a checkpoint, beside the checkpoint itself. */
import type { Client } from "@langchain/langgraph-sdk"
import { overwriteOf, type State, updateOf } from "./state-update.js"

export interface StateEdit {
  /** The checkpoint's state, and what it shall be. */
  readonly before: State
  readonly after: State
  /** The node that the graph goes on behind; undefined where it was. */
  readonly asNode: string | undefined
}

interface UpdateReply {
  readonly checkpoint: { readonly checkpoint_id: string }
}

/**
 * Writes a checkpoint beside the given one, with the edited state. A second write overwrites what the graph's reducers
 * have combined with the former values in the first one.
 * @returns  the checkpoint with the edited state: the given one if nothing is edited
 */
export async function editCheckpoint(
  client: Client,
  threadId: string,
  checkpointId: string,
  edit: StateEdit | undefined,
): Promise<string> {
  const update = edit && updateOf(edit.before, edit.after)
  if (!update) return checkpointId
  const { after, asNode } = edit
  const write = async (values: State, from: string) => {
    const update = { values, checkpointId: from, ...(asNode !== undefined && { asNode }) }
    // The SDK's type has `configurable` here; the servers reply with `checkpoint`.
    const reply = (await client.threads.updateState(threadId, update)) as unknown as UpdateReply
    return reply.checkpoint.checkpoint_id
  }
  const edited = await write(update, checkpointId)
  const { values } = await client.threads.getState<State>(threadId, edited)
  const overwrite = overwriteOf(after, values, Object.keys(update))
  return overwrite ? write(overwrite, edited) : edited
}
