/** A checkpoint as the server keeps it: its pending writes know their places. */
import type { Checkpoint, CheckpointTuple, PendingWrite } from "./langgraph.js"
import { withoutAnswered } from "./open-questions.js"

/**
 * Where a write of a task is kept. The special channels have fixed places below zero, so that a later one replaces
 * the earlier one; the rest are counted.
 * @see `WRITES_IDX_MAP` of `@langchain/langgraph-checkpoint`, which every saver uses
 */
export const specialIndexes: Readonly<Record<string, number>> = {
  __error__: -1,
  __scheduled__: -2,
  __interrupt__: -3,
  __resume__: -4,
}

export interface Task {
  readonly taskId: string
  readonly taskPath: string
}

export interface PlacedWrite extends Task {
  readonly idx: number
  readonly channel: string
  readonly value: unknown
}

export interface SavedCheckpoint extends Omit<CheckpointTuple, "pendingWrites"> {
  readonly writes: readonly PlacedWrite[]
}

/** As LangGraph wants it, with the open questions alone. Each caller gets a copy of its own: `getState` applies the pending writes to what it was given. */
export const tupleOf = ({ writes, checkpoint, ...saved }: SavedCheckpoint): CheckpointTuple => ({
  ...saved,
  checkpoint: copyOf(checkpoint),
  pendingWrites: withoutAnswered(writes).map(pendingWrite),
})

export const pendingWrite = ({ taskId, channel, value }: PlacedWrite): PendingWrite => [taskId, channel, value]

/** Values are replaced and never changed; everything else LangGraph changes in place. */
const copyOf = (checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  channel_values: { ...checkpoint.channel_values },
  channel_versions: { ...checkpoint.channel_versions },
  versions_seen: Object.fromEntries(
    Object.entries(checkpoint.versions_seen).map(([node, versions]) => [node, { ...versions }]),
  ),
})

/** The pending writes of one checkpoint, kept as the server keeps them. */
export class PendingWrites {
  /** By task and index. */
  readonly #writes = new Map<string, PlacedWrite>()

  load(saved: readonly PlacedWrite[]): void {
    for (const write of saved) this.#writes.set(placeOf(write), write)
  }

  /** Special channels replace what was there, the others keep what came first. */
  add(task: Task, writes: readonly (readonly [channel: string, value: unknown])[]): void {
    const replaces = writes.every(([channel]) => channel in specialIndexes)
    writes.forEach(([channel, value], position) => {
      const write = { ...task, idx: specialIndexes[channel] ?? position, channel, value }
      const place = placeOf(write)
      if (replaces || !this.#writes.has(place)) this.#writes.set(place, write)
    })
  }

  /** In the order in which LangGraph applies them: by path, task and index. */
  list(): PlacedWrite[] {
    return [...this.#writes.values()].sort(
      (a, b) => byteOrder(a.taskPath, b.taskPath) || byteOrder(a.taskId, b.taskId) || a.idx - b.idx,
    )
  }
}

const placeOf = ({ taskId, idx }: PlacedWrite): string => `${taskId}\0${idx}`

/** Texts by code point, as LangGraph and the database compare them; `<` compares UTF-16 units. */
const byteOrder = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)))
