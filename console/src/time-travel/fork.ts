/** Going on from a checkpoint: edits it if asked, and starts a run there. Whatever came after it stays a branch. */
import type { Client } from "@langchain/langgraph-sdk"
import { overwriteOf, type State, updateOf } from "./state-update.js"

export interface ForkRequest {
  readonly threadId: string
  readonly assistantId: string
  readonly checkpointId: string
  /** The checkpoint's state and what it shall be; undefined to go on from it as it is. */
  readonly edit?: { readonly before: State; readonly after: State; readonly asNode: string | undefined } | undefined
}

interface UpdateReply {
  readonly checkpoint: { readonly checkpoint_id: string }
}

/** @returns the checkpoint that the run starts from: another one than was asked for if the state was edited */
export async function fork(client: Client, request: ForkRequest): Promise<string> {
  const { threadId, assistantId, edit } = request
  const checkpointId = edit ? await editCheckpoint(client, request, edit) : request.checkpointId
  await client.runs.create(threadId, assistantId, { input: null, checkpointId, streamResumable: true })
  return checkpointId
}

/**
 * Writes a checkpoint beside the given one, with the edited state. A second write overwrites what the graph's reducers
 * have combined with the former values in the first one.
 */
export async function editCheckpoint(
  client: Client,
  { threadId, checkpointId }: ForkRequest,
  { before, after, asNode }: NonNullable<ForkRequest["edit"]>,
): Promise<string> {
  const update = updateOf(before, after)
  if (!update) return checkpointId
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
