/** The project's own `BaseCheckpointSaver`, with a server behind it instead of a database. */
import type { CheckpointLink, ListOptions } from "./checkpoint-link.js"
import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointTuple,
  DeltaChannelHistory,
  LangGraphModule,
  RunnableConfig,
} from "./langgraph.js"

/** Where the saver's checkpoints are. */
export type CheckpointPlace = Pick<CheckpointLink, "get" | "list" | "history" | "put" | "putWrites">

/**
 * Makes a saver that a graph of this library accepts; its serialiser is the library's, so that messages come back as
 * the project's classes.
 */
export function createCheckpointer(library: LangGraphModule, link: CheckpointPlace): BaseCheckpointSaver {
  class Checkpointer extends library.BaseCheckpointSaver {
    getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
      return link.get(this.serde, config)
    }

    list(config: RunnableConfig, options: ListOptions = {}): AsyncGenerator<CheckpointTuple> {
      return link.list(this.serde, config, options)
    }

    /** LangGraph's own version calls `getTuple` for each ancestor, and would not find those that are kept for replay only. */
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
      metadata: Readonly<Record<string, unknown>>,
      newVersions: Readonly<Record<string, number | string>>,
    ): Promise<RunnableConfig> {
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
     * A version names one value for ever, since a thread's checkpoints share blobs by channel and version. Whole
     * numbers repeat after a fork or a rollback; the fraction is random, so these do not. They rise and compare as
     * numbers, also with whole ones that another saver wrote.
     */
    getNextVersion(current: number | undefined): number {
      return Math.floor(current ?? 0) + 1 + Math.random()
    }
  }
  return new Checkpointer()
}
