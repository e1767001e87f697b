/** Checkpoints as the lines of the worker protocol, and back (protocol/worker/README.md, "checkpoints"). */
import type { Blob, DeltaHistory, CheckpointTuple as TupleFields, Write } from "@superstep/protocol/worker/frames"
import type { Checkpoint, DeltaChannelHistory, RunnableConfig, Serde } from "./langgraph.js"
import { type PlacedWrite, pendingWrite, type SavedCheckpoint, specialIndexes, type Task } from "./saved-checkpoint.js"
import { serialise } from "./serialise.js"

type Line = readonly [name: string, line: string]

/** Which checkpoint a config means. */
export function checkpointRef(config: RunnableConfig): { threadId: string; ns: string; id: string | undefined } {
  const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {}
  if (typeof thread_id !== "string") throw new Error("a checkpoint needs configurable.thread_id")
  return {
    threadId: thread_id,
    ns: typeof checkpoint_ns === "string" ? checkpoint_ns : "",
    id: typeof checkpoint_id === "string" ? checkpoint_id : undefined,
  }
}

export function refConfig(threadId: string, ns: string, id: string): RunnableConfig {
  return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } }
}

/** The channels whose version is new: their blobs and one line for each. */
export async function encodeBlobs(
  serde: Serde,
  values: Readonly<Record<string, unknown>>,
  newVersions: Readonly<Record<string, number | string>>,
): Promise<{ blobs: Blob[]; lines: Line[] }> {
  const encoded = await Promise.all(
    Object.entries(newVersions).map(async ([channel, version]) => {
      const { type, line } = channel in values ? await encodeValue(serde, values[channel]) : { type: "empty", line: "" }
      return { blob: { channel, version: String(version), type }, line: ["blob", line] as const }
    }),
  )
  return { blobs: encoded.map(({ blob }) => blob), lines: encoded.map(({ line }) => line) }
}

export async function encodeWrites(
  serde: Serde,
  task: Task,
  writes: readonly (readonly [channel: string, value: unknown])[],
): Promise<{ writes: Write[]; lines: Line[] }> {
  const encoded = await Promise.all(
    writes.map(async ([channel, value], position) => {
      const { type, line } = await encodeValue(serde, value)
      const idx = specialIndexes[channel] ?? position
      const write = { task_id: task.taskId, task_path: task.taskPath, idx, channel, type }
      return { write, line: ["write", line] as const }
    }),
  )
  return { writes: encoded.map(({ write }) => write), lines: encoded.map(({ line }) => line) }
}

/** The checkpoint without its values, which travel as blobs, and its metadata. */
export function checkpointLines(checkpoint: Checkpoint, metadata: object): Line[] {
  const { channel_values: _, ...rest } = checkpoint
  return [
    ["checkpoint", JSON.stringify(rest)],
    ["metadata", serialise(metadata)],
  ]
}

/**
 * Puts a tuple together from a reply.
 * @param lines  the tuple's own: `checkpoint`, `metadata`, each blob, each write
 */
export async function decodeTuple(
  serde: Serde,
  threadId: string,
  fields: TupleFields,
  lines: readonly Buffer[],
): Promise<SavedCheckpoint> {
  const { checkpoint_ns: ns, checkpoint_id: id, parent_checkpoint_id: parentId, blobs, writes } = fields
  const [checkpoint, metadata, ...values] = lines.map((line) => line.toString("utf8"))
  if (checkpoint === undefined || metadata === undefined) throw new Error(`checkpoint ${id} came without its lines`)
  const blobLines = values.slice(0, blobs.length)
  return {
    config: refConfig(threadId, ns, id),
    checkpoint: { ...JSON.parse(checkpoint), channel_values: await decodeBlobs(serde, blobs, blobLines) },
    metadata: JSON.parse(metadata),
    writes: await decodeWrites(serde, writes, values.slice(blobs.length)),
    ...(parentId === undefined ? {} : { parentConfig: refConfig(threadId, ns, parentId) }),
  }
}

/**
 * What delta channels are rebuilt from.
 * @param lines  each blob, each write
 */
export async function decodeHistory(
  serde: Serde,
  channels: readonly string[],
  { blobs, writes }: DeltaHistory,
  lines: readonly Buffer[],
): Promise<Record<string, DeltaChannelHistory>> {
  const values = lines.map((line) => line.toString("utf8"))
  const stored = await decodeBlobs(serde, blobs, values.slice(0, blobs.length))
  const written = await decodeWrites(serde, writes, values.slice(blobs.length))
  const historyOf = (name: string): DeltaChannelHistory => ({
    writes: written.filter(({ channel }) => channel === name).map(pendingWrite),
    ...(Object.hasOwn(stored, name) && { seed: stored[name] }),
  })
  return Object.fromEntries(channels.map((channel) => [channel, historyOf(channel)]))
}

/** How many payload lines a tuple has. */
export function lineCount({ blobs, writes }: TupleFields): number {
  return 2 + blobs.length + writes.length
}

async function decodeBlobs(
  serde: Serde,
  blobs: readonly Blob[],
  lines: readonly string[],
): Promise<Record<string, unknown>> {
  const values = await Promise.all(
    blobs.map(async ({ channel, type }, index) =>
      type === "empty" ? [] : [[channel, await decodeValue(serde, type, lines[index] ?? "")] as const],
    ),
  )
  return Object.fromEntries(values.flat())
}

function decodeWrites(serde: Serde, writes: readonly Write[], lines: readonly string[]): Promise<PlacedWrite[]> {
  return Promise.all(
    writes.map(async ({ task_id: taskId, task_path: taskPath, idx, channel, type }, index) => {
      const value = await decodeValue(serde, type, lines[index] ?? "")
      return { taskId, taskPath, idx, channel, value }
    }),
  )
}

async function encodeValue(serde: Serde, value: unknown): Promise<{ type: string; line: string }> {
  const [type, bytes] = await serde.dumpsTyped(value)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (type !== "json") return { type, line: buffer.toString("base64") }
  // A symbol or a function has no JSON at all, and nothing could read the thread again.
  return { type, line: buffer.length === 0 ? "null" : buffer.toString("utf8") }
}

function decodeValue(serde: Serde, type: string, line: string): Promise<unknown> {
  return serde.loadsTyped(type, type === "json" ? line : Buffer.from(line, "base64"))
}
