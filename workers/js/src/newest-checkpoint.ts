/** The newest checkpoint of a thread's root and its pending writes, as one run saw them go by. */
import { specialIndexes } from "./checkpoint-lines.js"
import type { Checkpoint, CheckpointTuple, PendingWrite } from "./langgraph.js"

type ChannelWrites = readonly (readonly [channel: string, value: unknown])[]

export class NewestCheckpoint {
  #tuple: CheckpointTuple | undefined
  /**
   * By checkpoint, then by task and index. LangGraph saves a checkpoint after the one before it is saved, so the
   * first writes of its tasks may come earlier than itself.
   */
  readonly #writes = new Map<string, Map<string, PendingWrite>>()

  /** Each caller gets one of its own: LangGraph's `getState` applies the pending writes to what it was given. */
  get(): CheckpointTuple | undefined {
    if (this.#tuple === undefined) return undefined
    const { checkpoint } = this.#tuple
    const pendingWrites = [...this.#writesOf(checkpoint.id).values()]
    return { ...this.#tuple, checkpoint: copyOf(checkpoint), pendingWrites }
  }

  set(tuple: CheckpointTuple): void {
    const { id } = tuple.checkpoint
    this.#tuple = tuple
    for (const older of this.#writes.keys()) if (older < id) this.#writes.delete(older)
    const counts = new Map<string, number>()
    for (const write of tuple.pendingWrites) {
      const [taskId, channel] = write
      const position = counts.get(taskId) ?? 0
      counts.set(taskId, position + 1)
      this.#writesOf(id).set(`${taskId}\0${specialIndexes[channel] ?? position}`, write)
    }
  }

  /** As the server does it: special channels replace what was there, the others keep what came first. */
  addWrites(checkpointId: string, taskId: string, writes: ChannelWrites): void {
    const known = this.#writesOf(checkpointId)
    const replaces = writes.every(([channel]) => channel in specialIndexes)
    writes.forEach(([channel, value], position) => {
      const key = `${taskId}\0${specialIndexes[channel] ?? position}`
      if (replaces || !known.has(key)) known.set(key, [taskId, channel, value])
    })
  }

  #writesOf(checkpointId: string): Map<string, PendingWrite> {
    const known = this.#writes.get(checkpointId) ?? new Map<string, PendingWrite>()
    this.#writes.set(checkpointId, known)
    return known
  }
}

/** Values are replaced and never changed; everything else LangGraph changes in place. */
const copyOf = (checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  channel_values: { ...checkpoint.channel_values },
  channel_versions: { ...checkpoint.channel_versions },
  versions_seen: Object.fromEntries(
    Object.entries(checkpoint.versions_seen).map(([node, versions]) => [node, { ...versions }]),
  ),
})
