/** A checkpoint as the server stores it: its pending writes have their places. */
import type { Checkpoint, CheckpointTuple, PendingWrite } from "../loading/langgraph.js"

/**
 * The index of a task's write. The special channels have fixed indexes below zero, so that a later write replaces the earlier
 * one; the others are numbered.
 * @see `WRITES_IDX_MAP` of `@langchain/langgraph-checkpoint`, which every saver uses
 */
export const specialIndexes: ReadonlyMap<string, number> = new Map([
  ["__error__", -1],
  ["__scheduled__", -2],
  ["__interrupt__", -3],
  ["__resume__", -4],
])

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

/** The form for LangGraph, with only what is open. Each caller gets its own copy: `getState` applies the pending writes to it. */
export const tupleOf = ({ writes, checkpoint, ...saved }: SavedCheckpoint): CheckpointTuple => ({
  ...saved,
  checkpoint: copyOf(checkpoint),
  pendingWrites: forGraph(writes).map(pendingWrite),
})

export const pendingWrite = ({ taskId, channel, value }: PlacedWrite): PendingWrite => [taskId, channel, value]

/** LangGraph replaces values, but changes everything else in place. */
const copyOf = (checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  channel_values: { ...checkpoint.channel_values },
  channel_versions: { ...checkpoint.channel_versions },
  versions_seen: Object.fromEntries(
    Object.entries(checkpoint.versions_seen).map(([node, versions]) => [node, { ...versions }]),
  ),
})

/** The pending writes of one checkpoint, with the same rules as the server. */
export class PendingWrites {
  /** By task and index. */
  readonly #writes = new Map<string, PlacedWrite>()

  load(saved: readonly PlacedWrite[]): void {
    for (const write of saved) this.#writes.set(writeKey(write), write)
  }

  /** Writes of special channels replace earlier ones; for other channels the first write stays. */
  add(task: Task, writes: readonly (readonly [channel: string, value: unknown])[]): void {
    const replaces = writes.every(([channel]) => specialIndexes.has(channel))
    writes.forEach(([channel, value], position) => {
      const write = { ...task, idx: specialIndexes.get(channel) ?? position, channel, value }
      const place = writeKey(write)
      if (replaces || !this.#writes.has(place)) this.#writes.set(place, write)
    })
  }

  /** The writes in the order in which LangGraph applies them: by path, task and index. */
  list(): PlacedWrite[] {
    return [...this.#writes.values()].sort(
      (a, b) => byteOrder(a.taskPath, b.taskPath) || byteOrder(a.taskId, b.taskId) || a.idx - b.idx,
    )
  }
}

const writeKey = ({ taskId, idx }: PlacedWrite): string => `${taskId}\0${idx}`

/** Compares texts by code point, like LangGraph and the database; `<` compares UTF-16 units. */
const byteOrder = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** Writes that record what happened to a task. Every other write is output, also the marker of a task without output. */
const controlChannels: ReadonlySet<string> = new Set([
  "__error__",
  "__error_source_node__",
  "__interrupt__",
  "__resume__",
])

/** The task of the writes of a command. */
const nullTask = "00000000-0000-0000-0000-000000000000"

/**
 * Pending writes without the interrupts of finished tasks: while another task of the step still waits, LangGraph keeps all writes
 * of the step, including the answered interrupt, and LangGraph JS reports it as open. And without the answer of an earlier command: its
 * task keeps it with its own writes, and LangGraph would also give it to the next question that nobody has answered.
 * @see  langgraph 1.2 for Python, `pregel/_task_status.py`, which has the same rule about interrupts
 */
function forGraph(writes: readonly PlacedWrite[]): readonly PlacedWrite[] {
  const finished = new Set(writes.filter(({ channel }) => !controlChannels.has(channel)).map(({ taskId }) => taskId))
  return writes.filter(({ taskId, channel }) =>
    channel === "__resume__" ? taskId !== nullTask : channel !== "__interrupt__" || !finished.has(taskId),
  )
}
