/**
 * Checkpoints of an update of a thread's state: LangGraph's writes are collected and not sent, since the server commits all of
 * them or none (protocol/worker, `graph.update_state`). Collected writes are read back as if they were saved.
 */
import type { Blob, GatheredPut, Write } from "@superstep/protocol/worker/frames"
import type { Checkpoint, CheckpointTuple, DeltaChannelHistory, RunnableConfig, Serde } from "../loading/langgraph.js"
import { checkpointLines, checkpointRef, encodeBlobs, encodeWrites, refConfig } from "./checkpoint-lines.js"
import type { CheckpointLink, ListOptions } from "./checkpoint-link.js"
import { checkpointMetadata } from "./checkpoint-metadata.js"
import { PendingWrites, pendingWrite, type SavedCheckpoint, type Task, tupleOf } from "./saved-checkpoint.js"

type Line = readonly [name: string, line: string]

interface Gathered {
  readonly put: GatheredPut
  readonly lines: readonly Line[]
}

interface TaskWrites {
  readonly task: Task
  readonly writes: readonly (readonly [channel: string, value: unknown])[]
}

export class GatheringLink {
  readonly #saved: CheckpointLink
  readonly #gathered: Gathered[] = []
  /** Collected checkpoints, by namespace and id. */
  readonly #checkpoints = new Map<string, SavedCheckpoint>()
  /** By namespace: the last collected checkpoint, from which the next superstep starts. */
  readonly #newestIds = new Map<string, string>()
  /** Collected writes by namespace and id, for collected checkpoints and for those of the server. */
  readonly #writes = new Map<string, TaskWrites[]>()

  /** @param saved  reads the server's checkpoints */
  constructor(saved: CheckpointLink) {
    this.#saved = saved
  }

  /** All collected writes, in order. */
  get puts(): readonly GatheredPut[] {
    return this.#gathered.map(({ put }) => put)
  }

  get lines(): readonly Line[] {
    return this.#gathered.flatMap(({ lines }) => lines)
  }

  async get(serde: Serde, config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const found = await this.#load(serde, config)
    return found && tupleOf(found)
  }

  list(serde: Serde, config: RunnableConfig, options: ListOptions): AsyncGenerator<CheckpointTuple> {
    return this.#saved.list(serde, config, options)
  }

  /** A channel's history at a collected checkpoint is the parent's history followed by the parent's writes. */
  async history(
    serde: Serde,
    config: RunnableConfig,
    channels: readonly string[],
  ): Promise<Record<string, DeltaChannelHistory>> {
    const target = await this.#load(serde, config)
    if (target === undefined || !this.#isGathered(target)) return this.#saved.history(serde, config, channels)
    const parent = target.parentConfig && (await this.#load(serde, target.parentConfig))
    const stored = parent?.checkpoint.channel_values ?? {}
    const sought = channels.filter((channel) => !Object.hasOwn(stored, channel))
    const older = parent && sought.length > 0 ? await this.history(serde, parent.config, sought) : {}
    return Object.fromEntries(
      channels.map((channel) => {
        const writes = (parent?.writes ?? []).filter((write) => write.channel === channel).map(pendingWrite)
        if (Object.hasOwn(stored, channel)) return [channel, { seed: stored[channel], writes }]
        return [channel, { ...older[channel], writes: [...(older[channel]?.writes ?? []), ...writes] }]
      }),
    )
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
    const place = checkpointKey(ns, checkpoint.id)
    this.#checkpoints.set(place, { config: saved, checkpoint, metadata: kept, writes: [], ...parent })
    this.#newestIds.set(ns, checkpoint.id)
    this.#gather(ns, checkpoint.id, { blobs, parentId }, [...checkpointLines(checkpoint, kept), ...lines])
    return saved
  }

  async putWrites(serde: Serde, config: RunnableConfig, writes: TaskWrites["writes"], task: Task): Promise<void> {
    const { ns, id } = checkpointRef(config)
    if (id === undefined) throw new Error("writes need configurable.checkpoint_id")
    const place = checkpointKey(ns, id)
    this.#writes.set(place, [...(this.#writes.get(place) ?? []), { task, writes }])
    const encoded = await encodeWrites(serde, task, writes)
    this.#gather(ns, id, { writes: encoded.writes }, encoded.lines)
  }

  /** Loads a collected checkpoint or one of the server, with the writes that were collected for it. */
  async #load(serde: Serde, config: RunnableConfig): Promise<SavedCheckpoint | undefined> {
    const { ns, id = this.#newestIds.get(ns) } = checkpointRef(config)
    const gathered = id === undefined ? undefined : this.#checkpoints.get(checkpointKey(ns, id))
    const found = gathered ?? (await this.#saved.load(serde, config))
    if (found === undefined) return undefined
    const all = new PendingWrites()
    all.load(found.writes)
    for (const { task, writes } of this.#writes.get(checkpointKey(ns, found.checkpoint.id)) ?? []) all.add(task, writes)
    return { ...found, writes: all.list() }
  }

  #isGathered({ config }: SavedCheckpoint): boolean {
    const { ns, id = "" } = checkpointRef(config)
    return this.#checkpoints.has(checkpointKey(ns, id))
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
}

const checkpointKey = (ns: string, id: string): string => `${ns}\0${id}`
