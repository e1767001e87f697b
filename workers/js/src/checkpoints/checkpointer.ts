/** The project's own `BaseCheckpointSaver`, with a server behind it instead of a database. */

import { isDeepStrictEqual } from "node:util"
import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointTuple,
  DeltaChannelHistory,
  LangGraphModule,
  RunnableConfig,
} from "../loading/langgraph.js"
import type { CheckpointLink, ListOptions } from "./checkpoint-link.js"

type CheckpointMetadata = Readonly<Record<string, unknown>>

/** Where the saver reads and writes checkpoints. */
export type CheckpointPlace = Pick<CheckpointLink, "get" | "list" | "history" | "put" | "putWrites">

/**
 * Makes a saver that a graph of this library accepts. It uses the library's serialiser, so that messages are restored as
 * instances of the project's classes.
 * @param on  `newVersion` is called when the graph is about to change a channel, first when it applies the input; `put` with the
 *   metadata of each checkpoint, before it is saved; `repeatsStep`: whether the run continues from the middle of a super-step of an
 *   earlier attempt
 */
export function createCheckpointer(
  library: LangGraphModule,
  link: CheckpointPlace,
  on: {
    readonly newVersion?: () => void
    readonly put?: (metadata: CheckpointMetadata) => void
    readonly repeatsStep?: () => boolean
  } = {},
): BaseCheckpointSaver {
  class Checkpointer extends library.BaseCheckpointSaver {
    async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
      const found = await link.get(this.serde, config)
      if (found !== undefined && on.repeatsStep?.()) beginAnew(found, config)
      return found
    }

    list(config: RunnableConfig, options: ListOptions = {}): AsyncGenerator<CheckpointTuple> {
      return link.list(this.serde, config, options)
    }

    /** LangGraph's own version calls `getTuple` for each ancestor, and would miss those that are kept only for this method. */
    getDeltaChannelHistory({
      config,
      channels,
    }: {
      readonly config: RunnableConfig
      readonly channels: readonly string[]
    }): Promise<Record<string, DeltaChannelHistory>> {
      return link.history(this.serde, config, channels)
    }

    put(
      config: RunnableConfig,
      checkpoint: Checkpoint,
      metadata: CheckpointMetadata,
      newVersions: Readonly<Record<string, number | string>>,
    ): Promise<RunnableConfig> {
      on.put?.(metadata)
      return link.put(this.serde, config, checkpoint, metadata, newVersions)
    }

    putWrites(
      config: RunnableConfig,
      writes: readonly (readonly [string, unknown])[],
      taskId: string,
      taskPath = "",
    ): Promise<void> {
      return link.putWrites(this.serde, config, writes, { taskId, taskPath })
    }

    deleteThread(threadId: string): Promise<void> {
      return Promise.reject(new Error(`thread ${threadId} is deleted through the API, not from within a graph`))
    }

    /**
     * A version names one value forever, since a thread's checkpoints share blobs by channel and version. Whole numbers
     * would repeat after a fork or a rollback; with a random fraction, versions do not. They rise, and compare as numbers,
     * also with whole numbers from another saver.
     */
    getNextVersion(current: number | undefined): number {
      on.newVersion?.()
      return Math.floor(current ?? 0) + 1 + Math.random()
    }
  }
  return new Checkpointer()
}

/**
 * When LangGraph continues a super-step, it lets every subgraph of the step continue from its newest checkpoint. A subgraph that keeps
 * its checkpoints (`checkpointer: true`) may not have begun in this step: then it would return an old answer to a new input.
 */
function beginAnew({ metadata }: CheckpointTuple, { configurable }: RunnableConfig): void {
  if (!configurable?.checkpoint_ns || !configurable.__pregel_resuming || metadata.parents === undefined) return
  if (!isDeepStrictEqual(metadata.parents, configurable.checkpoint_map))
    Object.assign(configurable, { __pregel_resuming: false })
}
