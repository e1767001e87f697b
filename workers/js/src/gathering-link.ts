/**
 * Checkpoints of an update of a thread's state: what LangGraph saves is gathered and not sent, since the server commits
 * all of it or nothing (protocol/worker, `graph.update_state`). What was gathered is read back as if it were saved.
 */
import type { Blob, GatheredPut, Write } from "@superstep/protocol/worker/frames"
import { checkpointLines, checkpointRef, encodeBlobs, encodeWrites, refConfig } from "./checkpoint-lines.js"
import type { CheckpointLink, ListOptions } from "./checkpoint-link.js"
import { checkpointMetadata } from "./checkpoint-metadata.js"
import type { Checkpoint, CheckpointTuple, RunnableConfig, Serde } from "./langgraph.js"
import { NewestCheckpoint } from "./newest-checkpoint.js"

type Line = readonly [name: string, line: string]

interface Gathered {
  readonly put: GatheredPut
  readonly lines: readonly Line[]
}

export class GatheringLink {
  readonly #saved: CheckpointLink
  readonly #gathered: Gathered[] = []
  /** By namespace: only the newest is asked for again, as the checkpoint that the next superstep begins from. */
  readonly #newest = new Map<string, NewestCheckpoint>()

  /** @param saved  reads what the server has */
  constructor(saved: CheckpointLink) {
    this.#saved = saved
  }

  /** Everything that was to be saved, in order. */
  get puts(): readonly GatheredPut[] {
    return this.#gathered.map(({ put }) => put)
  }

  get lines(): readonly Line[] {
    return this.#gathered.flatMap(({ lines }) => lines)
  }

  async get(serde: Serde, config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { ns, id } = checkpointRef(config)
    const newest = this.#newest.get(ns)?.get()
    if (newest !== undefined && (id === undefined || newest.checkpoint.id === id)) return newest
    return await this.#saved.get(serde, config)
  }

  list(serde: Serde, config: RunnableConfig, options: ListOptions): AsyncGenerator<CheckpointTuple> {
    return this.#saved.list(serde, config, options)
  }

  async put(
    serde: Serde,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: Readonly<Record<string, unknown>>,
    newVersions: Readonly<Record<string, number | string>>,
  ): Promise<RunnableConfig> {
    const { threadId, ns, id: parentId } = checkpointRef(config)
    const kept = checkpointMetadata(config, metadata)
    const { blobs, lines } = await encodeBlobs(serde, checkpoint.channel_values, newVersions)
    const saved = refConfig(threadId, ns, checkpoint.id)
    const parent = parentId === undefined ? {} : { parentConfig: refConfig(threadId, ns, parentId) }
    this.#newestOf(ns).set({ config: saved, checkpoint, metadata: kept, pendingWrites: [], ...parent })
    this.#gather(ns, checkpoint.id, { blobs, parentId }, [...checkpointLines(checkpoint, kept), ...lines])
    return saved
  }

  async putWrites(
    serde: Serde,
    config: RunnableConfig,
    writes: readonly (readonly [string, unknown])[],
    task: { readonly taskId: string; readonly taskPath: string },
  ): Promise<void> {
    const { ns, id } = checkpointRef(config)
    if (id === undefined) throw new Error("writes need configurable.checkpoint_id")
    this.#newest.get(ns)?.addWrites(id, task.taskId, writes)
    const encoded = await encodeWrites(serde, task, writes)
    this.#gather(ns, id, { writes: encoded.writes }, encoded.lines)
  }

  #gather(
    checkpoint_ns: string,
    checkpoint_id: string,
    what: { blobs: Blob[]; parentId: string | undefined } | { writes: Write[] },
    lines: readonly Line[],
  ): void {
    const place = { checkpoint_ns, checkpoint_id }
    if ("writes" in what) {
      this.#gathered.push({ put: { ...place, writes: what.writes }, lines })
      return
    }
    const { blobs, parentId } = what
    const parent = parentId === undefined ? {} : { parent_checkpoint_id: parentId }
    this.#gathered.push({ put: { ...place, ...parent, blobs }, lines })
  }

  #newestOf(ns: string): NewestCheckpoint {
    const known = this.#newest.get(ns) ?? new NewestCheckpoint()
    this.#newest.set(ns, known)
    return known
  }
}
