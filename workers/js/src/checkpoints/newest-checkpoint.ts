/** The newest checkpoint of a thread's root and its pending writes, as recorded by one run. */
import { PendingWrites, type SavedCheckpoint, type Task } from "./saved-checkpoint.js"

export class NewestCheckpoint {
  #newest: SavedCheckpoint | undefined
  /** By checkpoint: the first writes of a checkpoint's tasks may come before the checkpoint. */
  readonly #writes = new Map<string, PendingWrites>()

  get(): SavedCheckpoint | undefined {
    if (this.#newest === undefined) return undefined
    return { ...this.#newest, writes: this.#writesOf(this.#newest.checkpoint.id).list() }
  }

  set(saved: SavedCheckpoint): void {
    const { id } = saved.checkpoint
    const former = this.#newest?.checkpoint.id
    this.#newest = saved
    // Not every lower id: ids come from a clock, which may be set back.
    if (former !== undefined && former !== id) this.#writes.delete(former)
    this.#writesOf(id).load(saved.writes)
  }

  addWrites(checkpointId: string, task: Task, writes: readonly (readonly [string, unknown])[]): void {
    this.#writesOf(checkpointId).add(task, writes)
  }

  #writesOf(checkpointId: string): PendingWrites {
    const known = this.#writes.get(checkpointId) ?? new PendingWrites()
    this.#writes.set(checkpointId, known)
    return known
  }
}
