/** Checkpoints as the lines of the worker protocol, and back (protocol/worker/README.md, "checkpoints"). */

import type { Blob, DeltaHistory, CheckpointTuple as TupleFields, Write } from "@superstep/protocol/worker/frames"
import { describeError } from "../errors/describe-error.js"
import type { Checkpoint, DeltaChannelHistory, RunnableConfig, Serde } from "../loading/langgraph.js"
import { savedText } from "../values/saved-text.js"
import { savedValue } from "../values/saved-value.js"
import { serialise } from "../values/serialise.js"
import { type PlacedWrite, pendingWrite, type SavedCheckpoint, specialIndexes, type Task } from "./saved-checkpoint.js"

type Line = readonly [name: string, line: string]

/** The checkpoint that a config refers to. */
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

/** The blobs of channels with a new version, and one line for each. */
export async function encodeBlobs(
  serde: Serde,
  values: Readonly<Record<string, unknown>>,
  newVersions: Readonly<Record<string, number | string>>,
): Promise<{ blobs: Blob[]; lines: Line[] }> {
  const encoded = await Promise.all(
    Object.entries(newVersions).map(async ([channel, version]) => {
      const { type, line } = Object.hasOwn(values, channel)
        ? await encodeValue(serde, channel, values[channel])
        : { type: "empty", line: "" }
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
      const { type, line } = await encodeValue(serde, channel, value)
      const idx = specialIndexes.get(channel) ?? position
      const write = { task_id: task.taskId, task_path: task.taskPath, idx, channel, type }
      return { write, line: ["write", line] as const }
    }),
  )
  return { writes: encoded.map(({ write }) => write), lines: encoded.map(({ line }) => line) }
}

/** The checkpoint without its values, which are sent as blobs, and its metadata. */
export function checkpointLines(checkpoint: Checkpoint, metadata: object): Line[] {
  const { channel_values: _, ...rest } = checkpoint
  return [
    ["checkpoint", JSON.stringify(rest)],
    ["metadata", serialise(metadata)],
  ]
}

/**
 * The lines of values in one reply, by namespace, channel and version. Tuples share the line but not the value: user code may
 * change the values of one checkpoint, which must not change those of another.
 */
export type SharedLines = Map<string, string>

/**
 * Decodes a tuple from a reply.
 * @param lines  the tuple's own lines: `checkpoint`, `metadata`, each blob, each write
 * @param shared  lines of earlier tuples in the reply; this tuple's lines are added
 */
export async function decodeTuple(
  serde: Serde,
  threadId: string,
  fields: TupleFields,
  lines: readonly Buffer[],
  shared: SharedLines = new Map(),
): Promise<SavedCheckpoint> {
  const { checkpoint_ns: ns, checkpoint_id: id, parent_checkpoint_id: parentId, blobs, writes } = fields
  const [checkpoint, metadata, ...values] = lines.map((line) => line.toString("utf8"))
  if (checkpoint === undefined || metadata === undefined) throw new Error(`checkpoint ${id} came without its lines`)
  const readBlob = (blob: Blob, own: string) => {
    const place = [ns, blob.channel, blob.version].join("\0")
    const line = blob.repeated ? shared.get(place) : own
    if (line === undefined) throw new Error(`checkpoint ${id} came without the value of ${blob.channel}`)
    shared.set(place, line)
    return decodeValue(serde, blob.type, line)
  }
  return {
    config: refConfig(threadId, ns, id),
    checkpoint: { ...JSON.parse(checkpoint), channel_values: await decodeBlobs(blobs, values, readBlob) },
    metadata: JSON.parse(metadata),
    writes: await decodeWrites(serde, writes, values.slice(blobs.length)),
    ...(parentId === undefined ? {} : { parentConfig: refConfig(threadId, ns, parentId) }),
  }
}

/**
 * The data from which delta channels are rebuilt.
 * @param lines  each blob, each write
 */
export async function decodeHistory(
  serde: Serde,
  channels: readonly string[],
  { blobs, writes }: DeltaHistory,
  lines: readonly Buffer[],
): Promise<Record<string, DeltaChannelHistory>> {
  const values = lines.map((line) => line.toString("utf8"))
  const stored = await decodeBlobs(blobs, values, ({ type }, line) => decodeValue(serde, type, line))
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

/** @param lines  the lines of the blobs come first */
async function decodeBlobs(
  blobs: readonly Blob[],
  lines: readonly string[],
  readBlob: (blob: Blob, line: string) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const values = await Promise.all(
    blobs.map(async (blob, index) =>
      blob.type === "empty" ? [] : [[blob.channel, await readBlob(blob, lines[index] ?? "")] as const],
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

// What the serialiser writes in place of a value that `JSON.stringify` rejects, such as one with a bigint.
const notWritten = "[unable to serialize, circular reference is too complex to analyze]"

/** @throws TypeError  the serialiser would write a text in place of the value */
async function encodeValue(serde: Serde, channel: string, value: unknown): Promise<{ type: string; line: string }> {
  const text = savedText(value)
  if (text !== undefined) return { type: "json", line: text }
  const [type, bytes] = await serde.dumpsTyped(value)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (type !== "json") return { type, line: buffer.toString("base64") }
  if (value !== notWritten && buffer.equals(Buffer.from(JSON.stringify(notWritten)))) {
    throw new TypeError(`"${channel}" cannot be saved: ${reasonOf(value)}. Use a value that JSON has, such as a text`)
  }
  // A symbol or a function has no JSON; an empty line would make the thread unreadable.
  return { type, line: buffer.length === 0 ? "null" : buffer.toString("utf8") }
}

/** Why `JSON.stringify` rejects it, also inside of a map or a set, which the serialiser writes as lists. */
function reasonOf(value: unknown): string {
  try {
    JSON.stringify(value, (_, each) => (each instanceof Map || each instanceof Set ? [...each] : each))
  } catch (error) {
    return describeError(error).message
  }
  return "LangGraph's serialiser does not write it"
}

function decodeValue(serde: Serde, type: string, line: string): Promise<unknown> {
  return type === "json" ? savedValue(serde, line) : serde.loadsTyped(type, Buffer.from(line, "base64"))
}
