/** The writes of several claims in one transaction, as arguments of `commit_attempts` (migrations/functions/checkpoints.sql). Pure. */
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Fence } from "../workers/fence.js"
import { type CheckpointAddress, type NewCheckpoint, type PendingWrite, replaceEarlier } from "./checkpoint.js"

/** How a run ends, for `end_run`. */
export interface Ending {
  readonly threadId: string
  readonly status: "success" | "error" | "interrupted" | "timeout"
  readonly threadStatus: "idle" | "interrupted" | "error"
  /** JSON texts. */
  readonly error: string | null
  readonly values: string | null
  readonly interrupts: string | null
  /** Whether the thread is deleted with its run, so that writes to it can be left out. */
  readonly deletesThread: boolean
  /** The run's last events, when it has a log. */
  readonly events: readonly LogEvent[]
  /** The run's last events if it is rolled back instead. */
  readonly eventsOfRollback: readonly LogEvent[]
}

export interface LogEvent {
  readonly seq: number
  readonly event: string
  /** One line of JSON. */
  readonly data: string
}

/** One write of a claim. */
export type ClaimWrite =
  | { readonly kind: "checkpoint"; readonly checkpoint: NewCheckpoint }
  | { readonly kind: "writes"; readonly address: CheckpointAddress; readonly writes: readonly PendingWrite[] }
  | { readonly kind: "events"; readonly threadId: string; readonly events: readonly LogEvent[] }
  | { readonly kind: "ending"; readonly ending: Ending }

/** A checkpoint, or one write to it. */
export type SavedPlace = CheckpointAddress & { readonly write?: Pick<PendingWrite, "taskId" | "idx"> | undefined }

/** What an attempt knows to be committed. A database that does not have it has lost commits (K8). */
export interface Acknowledged {
  readonly attempt: number
  /** The checkpoint, or the write of a task, that was committed last. */
  readonly saved: SavedPlace | undefined
  /** The event that was logged last. */
  readonly seq: number | undefined
}

export interface ClaimBatch {
  /** Undefined for a write of the API, which no claim fences. */
  readonly fence: Fence | undefined
  readonly acknowledged?: Acknowledged | undefined
  /** In the order of the requests; nothing follows an ending. */
  readonly writes: readonly ClaimWrite[]
}

/** The three arguments: two JSON texts, and the bytes that they point to. */
export interface ClaimBatchArguments {
  readonly claims: string
  readonly rows: string
  readonly bytes: Buffer
}

/** The approximate number of bytes that a write adds to a batch. */
export function sizeOf(write: ClaimWrite): number {
  const perRow = 200
  switch (write.kind) {
    case "checkpoint": {
      const { checkpoint, metadata, blobs } = write.checkpoint
      return blobs.reduce((sum, { bytes }) => sum + perRow + (bytes?.length ?? 0), checkpoint.length + metadata.length)
    }
    case "writes":
      return write.writes.reduce((sum, { bytes }) => sum + perRow + bytes.length, perRow)
    case "events":
      return write.events.reduce((sum, event) => sum + sizeOfEvent(event), 0)
    case "ending":
      return (write.ending.values?.length ?? 0) + perRow
  }
}

/** What an event takes in memory: a million events of two bytes each take 300 MB. */
export const sizeOfEvent = ({ data }: LogEvent): number => data.length + 300

/** All bytes are sent in one binary parameter: as elements of an array they would be sent as hex, with twice the size. */
class Bytes {
  readonly #parts: Buffer[] = []
  #next = 1

  add(part: Buffer | string | null): { start: number; size: number } | undefined {
    if (part === null) return undefined
    const bytes = typeof part === "string" ? Buffer.from(part) : part
    const start = this.#next
    this.#parts.push(bytes)
    this.#next += bytes.length
    return { start, size: bytes.length }
  }

  joined(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

/** One row for each place, with the same result as saving them one by one: a statement must not change a row twice. */
class Rows {
  readonly #rows = new Map<string, object>()

  /** @param isNewer  whether it replaces an existing row */
  add(key: readonly unknown[], isNewer: boolean, row: () => object): void {
    const place = key.join("\0")
    if (isNewer || !this.#rows.has(place)) this.#rows.set(place, row())
  }

  list(): object[] {
    return [...this.#rows.values()]
  }
}

export function describeBatch(batches: readonly ClaimBatch[]): ClaimBatchArguments {
  const bytes = new Bytes()
  const [checkpoints, blobs, writes, replacing] = [new Rows(), new Rows(), new Rows(), new Rows()]
  const log: object[] = []
  const events: object[] = []
  const claims = batches.map(({ fence, acknowledged, writes: all }, n) => {
    const ending = all.find((write) => write.kind === "ending")?.ending
    const own = { claim: n, run_id: fence?.runId }
    const gone = ending?.deletesThread ? ending.threadId : undefined
    for (const write of all) {
      if (gone !== undefined && threadOf(write) === gone) continue
      if (write.kind === "checkpoint") addCheckpoint(write.checkpoint, own, { checkpoints, blobs, bytes })
      if (write.kind === "writes") addWrites(write, own, { writes, replacing, bytes })
      if (write.kind === "events")
        for (const { seq, event, data } of write.events) log.push({ claim: n, seq, event, ...bytes.add(data) })
    }
    const end = ending && describeEnding(ending, bytes)
    const addEvents = (outcome: string, last: readonly LogEvent[] = []) => {
      for (const { seq, event, data } of last) events.push({ claim: n, outcome, seq, event, ...bytes.add(data) })
    }
    addEvents("finished", ending?.events)
    addEvents("rolled_back", ending?.eventsOfRollback)
    const claim = { n, run_id: fence?.runId, claim_id: fence?.claimId, ...describeAcknowledged(acknowledged) }
    const logged = all.find((write) => write.kind === "events")
    return { ...claim, thread_id: ending?.threadId ?? logged?.threadId, ending: end }
  })
  const lists = Object.entries({ checkpoints, blobs, writes, replacing }).map(([name, rows]) => [name, rows.list()])
  const rows = toJsonText({ ...Object.fromEntries(lists), log, events })
  return { claims: toJsonText(claims), rows, bytes: bytes.joined() }
}

const describeAcknowledged = ({ attempt, saved, seq }: Partial<Acknowledged> = {}): object => ({
  attempt,
  saved_thread_id: saved?.threadId,
  saved_ns: saved?.checkpointNs,
  saved_id: saved?.checkpointId,
  saved_task_id: saved?.write?.taskId,
  saved_idx: saved?.write?.idx,
  logged_seq: seq,
})

/** The thread to which a write belongs, and with which it goes. Undefined for an ending, which is not a row, and for events, which stay. */
function threadOf(write: ClaimWrite): string | undefined {
  if (write.kind === "checkpoint") return write.checkpoint.threadId
  return write.kind === "writes" ? write.address.threadId : undefined
}

interface Own {
  readonly claim: number
  readonly run_id: string | undefined
}

function addCheckpoint(
  put: NewCheckpoint,
  own: Own,
  { checkpoints, blobs, bytes }: { checkpoints: Rows; blobs: Rows; bytes: Bytes },
): void {
  const place = { thread_id: put.threadId, checkpoint_ns: put.checkpointNs }
  for (const { channel, version, type, bytes: value } of put.blobs) {
    blobs.add([own.claim, ...Object.values(place), channel, version], false, () => ({
      claim: own.claim,
      ...place,
      channel,
      version,
      type,
      ...bytes.add(value),
    }))
  }
  checkpoints.add([own.claim, ...Object.values(place), put.checkpointId], true, () => {
    const metadata = bytes.add(toJsonbText(put.metadata))
    return {
      ...own,
      ...place,
      checkpoint_id: put.checkpointId,
      parent_checkpoint_id: put.parentCheckpointId,
      ...bytes.add(toJsonbText(put.checkpoint)),
      metadata_start: metadata?.start,
      metadata_size: metadata?.size,
    }
  })
}

function addWrites(
  { address, writes: all }: Extract<ClaimWrite, { kind: "writes" }>,
  own: Own,
  { writes, replacing, bytes }: { writes: Rows; replacing: Rows; bytes: Bytes },
): void {
  const replaces = replaceEarlier(all)
  const rows = replaces ? replacing : writes
  const place = {
    thread_id: address.threadId,
    checkpoint_ns: address.checkpointNs,
    checkpoint_id: address.checkpointId,
  }
  for (const { taskId, taskPath, idx, channel, type, bytes: value } of all) {
    rows.add([own.claim, ...Object.values(place), taskId, idx], replaces, () => ({
      ...own,
      ...place,
      task_id: taskId,
      task_path: taskPath,
      idx,
      channel,
      type,
      ...bytes.add(value),
    }))
  }
}

function describeEnding({ status, threadStatus, error, values, interrupts }: Ending, bytes: Bytes): object {
  const [errorAt, valuesAt, interruptsAt] = [error, values, interrupts].map((text) => bytes.add(text))
  return {
    status,
    thread_status: threadStatus,
    error_start: errorAt?.start,
    error_size: errorAt?.size,
    values_start: valuesAt?.start,
    values_size: valuesAt?.size,
    interrupts_start: interruptsAt?.start,
    interrupts_size: interruptsAt?.size,
  }
}
