/** Operations on whole threads: the only entry point for routes, crons and tests. State is in `state-operations.ts`. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { v7 as uuidv7 } from "uuid"
import { requireApproval } from "../acts/act.js"
import { recordedDeletion, recordTimeToLive } from "../acts/deletions.js"
import type { Caller } from "../auth/caller.js"
import { createOrFind } from "../auth/create-or-find.js"
import type { Streams } from "../events/streams.js"
import type { Page } from "../http/pagination.js"
import { Outdated } from "../idempotency/once.js"
import type { Peers } from "../servers/peers.js"
import { copyCheckpoints } from "./copy-queries.js"
import { type DeletedThread, deleteThread as deleteInDatabase } from "./deletion-queries.js"
import {
  findTakenId,
  findThread,
  findThreadWithTtl,
  insertThread,
  keepLatestCheckpoints,
  lockThread,
  pruneCheckpoints,
  setMetadata,
  setTtl,
} from "./queries.js"
import {
  countThreads as countInDatabase,
  searchThreads as searchInDatabase,
  type ThreadFilter,
  type ThreadOrder,
} from "./search-queries.js"
import { sizeOfChannels, sizeOfCheckpoints, sizeOfWrites } from "./storage-queries.js"
import type { ThreadRow, ThreadTtl, TtlStrategy } from "./thread.js"

type JsonObject = Readonly<Record<string, unknown>>

/** How long a thread lives from now on. */
export interface TtlRequest {
  readonly minutes: number
  readonly strategy: TtlStrategy
}

/** @throws NotFound  with the Platform's message (agent-server-api §5.4); also when the caller may not see the thread */
export async function getThread(db: Database, caller: Caller, threadId: string): Promise<ThreadRow> {
  const { filter } = await caller.authorize("threads:read", { thread_id: threadId })
  return (await findThread(db, threadId, filter)) ?? notFound(threadId)
}

/** Like `getThread`. @returns also the thread's time to live; null for one that never expires */
export async function getThreadWithTtl(
  db: Database,
  caller: Caller,
  threadId: string,
): Promise<{ readonly row: ThreadRow; readonly ttl: ThreadTtl | null }> {
  const { filter } = await caller.authorize("threads:read", { thread_id: threadId })
  const row = (await findThreadWithTtl(db, threadId, filter)) ?? notFound(threadId)
  if (row.strategy === null) return { row, ttl: null }
  const { strategy, ttl_minutes, expires_at } = row
  return { row, ttl: { strategy, ttl_minutes, expires_at } }
}

export const notFound = (threadId: string): never => {
  throw new NotFound(`Thread with ID ${threadId} not found`)
}

export interface ThreadRequest {
  readonly threadId: string | undefined
  readonly metadata: JsonObject
  readonly ifExists: "raise" | "do_nothing"
  readonly ttl?: TtlRequest | undefined
}

/** Computes what else to write with a new thread. @returns a function that writes it in the thread's transaction */
export type Prepare = (threadId: string, metadata: JsonObject) => Promise<(tx: Db) => Promise<ThreadRow>>

/**
 * Checks whether the caller may create a thread. Takes no lock.
 * @param prepare   called when the thread does not exist yet
 * @returns a function that creates the thread, or returns the existing one unchanged if the request allows it. It throws `Conflict` when the
 *          id is taken and `ifExists` is `raise`, or the caller may not see the existing thread, and `Outdated` when the id was taken and is free
 */
export async function prepareThread(
  db: Database,
  caller: Caller,
  { threadId = uuidv7(), metadata, ifExists, ttl }: ThreadRequest,
  prepare?: Prepare,
): Promise<(db: Database) => Promise<ThreadRow>> {
  const asked = { thread_id: threadId, metadata, if_exists: ifExists, ...(ttl && { ttl: ttlValue(ttl) }) }
  const { value, filter } = await caller.authorize("threads:create", asked)
  // Where the id is taken nothing is computed.
  const isTaken = prepare !== undefined && (await findThread(db, threadId)) !== undefined
  const fill = isTaken ? undefined : await prepare?.(threadId, value.metadata)
  const create = (tx: Database) => insertFilled(tx, { threadId, metadata: toJsonText(value.metadata ?? {}), ttl, fill })
  return async (tx) => {
    const thread = await createOrFind({
      create: async () => (isTaken ? undefined : create(tx)),
      find: async () => {
        const found = await findTakenId(tx, threadId, filter)
        if (!found && isTaken) throw new Outdated("the thread was deleted after its state was not computed")
        return found
      },
      mayExist: ifExists === "do_nothing",
    })
    if (!thread) throw new Conflict("Thread already exists", "thread_exists")
    return thread
  }
}

interface NewThread {
  readonly threadId: string
  readonly metadata: string
  readonly ttl: TtlRequest | undefined
  readonly fill: ((tx: Db) => Promise<ThreadRow>) | undefined
}

/** @returns undefined when the id is taken; then nothing was written */
async function insertFilled(db: Database, { threadId, metadata, ttl, fill }: NewThread) {
  if (!ttl && !fill) return insertThread(db, threadId, metadata)
  return db.transaction(async (tx) => {
    const created = await insertThread(tx, threadId, metadata)
    if (!created) return undefined
    if (ttl) await setTtl(tx, threadId, ttl)
    return fill ? fill(tx) : created
  })
}

const ttlValue = ({ minutes, strategy }: TtlRequest) => ({ ttl: minutes, strategy })

/**
 * Merges metadata key by key, and sets the thread's time to live if one is given.
 * @throws NotFound
 * @throws Forbidden  a time to live, and the person may not approve: the thread would be deleted
 */
export async function updateThread(
  db: Database,
  caller: Caller,
  threadId: string,
  { metadata = {}, ttl }: { metadata?: JsonObject | undefined; ttl?: TtlRequest | undefined },
): Promise<ThreadRow> {
  if (ttl) requireApproval(caller, "a thread's time to live")
  const asked = { thread_id: threadId, metadata, ...(ttl && { ttl: ttlValue(ttl) }) }
  const { value, filter } = await caller.authorize("threads:update", asked)
  return db.transaction(async (tx) => {
    const thread = (await lockThread(tx, threadId, filter)) ?? notFound(threadId)
    if (ttl) {
      await setTtl(tx, threadId, ttl)
      await recordTimeToLive(tx, caller, threadId, ttl)
    }
    const merged = { ...parseJson(thread.metadata), ...value.metadata }
    return (await setMetadata(tx, threadId, toJsonText(merged))) ?? notFound(threadId)
  })
}

export interface Threads {
  readonly db: Database
  readonly streams: Streams
  readonly peers: Pick<Peers, "stopRun">
}

/**
 * Deletes a thread with its runs and checkpoints (T3). Runs in flight are stopped and their clients get an end.
 * @throws NotFound
 * @throws Forbidden  the person may not approve: the thread's answers and changes would be gone
 */
export async function deleteThread(threads: Threads, caller: Caller, threadId: string): Promise<void> {
  if (!(await removeThread(threads, caller, threadId))) notFound(threadId)
}

async function removeThread({ db, streams, peers }: Threads, caller: Caller, threadId: string): Promise<boolean> {
  requireApproval(caller, "the deletion of a thread")
  const { filter } = await caller.authorize("threads:delete", { thread_id: threadId })
  const work = (tx: Db) => deleteInDatabase(tx, threadId, filter)
  const deleted = await recordedDeletion(db, caller, work, (it) =>
    it ? [{ type: "thread", id: threadId, threadId }] : [],
  )
  if (deleted) await endDeleted({ streams, peers }, deleted)
  return deleted !== undefined
}

/** Stops what runs on a thread that was deleted, and ends the streams of its clients, at every server. */
export async function endDeleted(
  { streams, peers }: { streams: Pick<Streams, "announceEnd" | "announceGone">; peers: Pick<Peers, "stopRun"> },
  { threadId, inFlight, stopping }: DeletedThread,
): Promise<void> {
  if (stopping) peers.stopRun(stopping)
  for (const runId of inFlight) await streams.announceEnd(runId, "interrupted", { threadId })
  streams.announceGone(threadId)
}

/**
 * Deletes threads, or all their checkpoints that are not needed to continue. Threads that do not exist, or that the caller
 * may not see, are not counted; with `keep_latest`, neither are threads with a run in flight.
 * @returns how many were pruned
 * @throws Forbidden  the person may not approve
 */
export async function pruneThreads(
  threads: Threads,
  caller: Caller,
  { threadIds, strategy }: { threadIds: readonly string[]; strategy: TtlStrategy },
): Promise<number> {
  requireApproval(caller, "the removal of threads or checkpoints")
  let pruned = 0
  for (const threadId of new Set(threadIds)) {
    const isDone =
      strategy === "delete"
        ? await removeThread(threads, caller, threadId)
        : await keepLatest(threads, caller, threadId)
    if (isDone) pruned += 1
  }
  return pruned
}

async function keepLatest({ db }: Threads, caller: Caller, threadId: string): Promise<boolean> {
  const { filter } = await caller.authorize("threads:update", { thread_id: threadId, metadata: {} })
  const work = (tx: Db) => pruneCheckpoints(tx, threadId, filter)
  // With the first portion: what that removes is gone, also when no other follows.
  const outcome = await recordedDeletion(db, caller, work, (it) =>
    it === "skipped" ? [] : [{ type: "checkpoints", id: threadId, threadId }],
  )
  if (outcome === "more") await keepLatestCheckpoints(db, threadId, filter)
  return outcome !== "skipped"
}

/**
 * Checks whether the caller may copy a thread, and copies its checkpoints.
 * @returns a function that makes the copy a thread under a new id
 * @throws Conflict  no such thread: both LangGraph servers reply 409 (agent-server-api §5.7)
 */
export async function prepareCopy(
  db: Database,
  caller: Caller,
  threadId: string,
): Promise<(db: Db) => Promise<ThreadRow>> {
  const { filter } = await caller.authorize("threads:read", { thread_id: threadId })
  const gone = () => new Conflict("Thread not found", "thread_not_found")
  const source = await findThread(db, threadId, filter)
  if (!source) throw gone()
  const copyId = uuidv7()
  const metadata = { ...parseJson(source.metadata), thread_id: copyId }
  const { value } = await caller.authorize("threads:create", { thread_id: copyId, metadata, if_exists: "raise" })
  const insertCopy = await copyCheckpoints(db, threadId, copyId)
  if (!insertCopy) throw gone()
  return (tx) => insertCopy(tx, toJsonText(value.metadata ?? {}))
}

export interface ThreadQuery extends ThreadFilter {
  readonly order: ThreadOrder
  readonly page: Page
  readonly withValues: boolean
}

// Clients show at most "1-10 of 10,000+". Without a bound, a filter that matches every thread would count a million for each page.
const countedThreads = 10_000

/** @returns a page, and the total number of matches: exact up to 10,000 plus one page */
export async function searchThreads(
  db: Database,
  caller: Caller,
  { order, page, withValues, ...asked }: ThreadQuery,
): Promise<{ threads: ThreadRow[]; total: number }> {
  const { value, filter: access } = await caller.authorize("threads:search", { ...asked, ...page })
  const [threads, total] = await Promise.all([
    searchInDatabase(db, { filter: value, access, order, page, withValues }),
    countInDatabase(db, value, access, Math.max(countedThreads, page.offset + page.limit + 1)),
  ])
  return { threads, total }
}

export async function countThreads(db: Database, caller: Caller, asked: ThreadFilter): Promise<number> {
  const { value, filter } = await caller.authorize("threads:search", { ...asked, limit: 0, offset: 0 })
  return countInDatabase(db, value, filter)
}

/** How much space a thread takes in the database (agent-server-api §5.9). */
export async function storageOf(db: Database, caller: Caller, threadId: string) {
  await getThread(db, caller, threadId)
  const [checkpoints, channels, writes] = await Promise.all([
    sizeOfCheckpoints(db, threadId),
    sizeOfChannels(db, threadId),
    sizeOfWrites(db, threadId),
  ])
  // It may have been deleted meanwhile, and then it takes nothing.
  await getThread(db, caller, threadId)
  const sum = (key: "versions" | "bytes") => channels.reduce((total, channel) => total + channel[key], 0)
  const entries = channels.map(({ channel, versions, bytes }) => [channel, { versions, bytes }])
  return {
    thread_id: threadId,
    total_bytes: checkpoints.bytes + writes.bytes + sum("bytes"),
    checkpoints,
    channel_values: { count: sum("versions"), bytes: sum("bytes"), by_channel: Object.fromEntries(entries) },
    pending_writes: writes,
  }
}
