/** What can be done with whole threads: the one way in for routes, crons and tests. State is in `state-operations.ts`. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as uuidv7 } from "uuid"
import type { Caller } from "../auth/caller.js"
import type { RunStreams } from "../events/run-streams.js"
import type { Page } from "../http/pagination.js"
import { deleteThread as deleteInDatabase } from "./deletion-queries.js"
import {
  copyThread as copyInDatabase,
  findThread,
  findTtl,
  insertThread,
  keepLatestCheckpoints,
  lockThread,
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

/** @throws NotFound  in the Platform's words (agent-server-api §5.4); also when the caller may not see it */
export async function getThread(db: Database, caller: Caller, threadId: string): Promise<ThreadRow> {
  const { filter } = await caller.authorize("threads:read", { thread_id: threadId })
  return (await findThread(db, threadId, filter)) ?? notFound(threadId)
}

/** @returns undefined for a thread that stays */
export const getTtl = (db: Database, { thread_id }: ThreadRow): Promise<ThreadTtl | undefined> => findTtl(db, thread_id)

export const notFound = (threadId: string): never => {
  throw new NotFound(`Thread with ID ${threadId} not found`)
}

export interface ThreadRequest {
  readonly threadId: string | undefined
  readonly metadata: JsonObject
  readonly ifExists: "raise" | "do_nothing"
  readonly ttl?: TtlRequest | undefined
}

/** Works out what else is to be written with a new thread, and gives what writes it in the thread's transaction. */
export type Prepare = (threadId: string, metadata: JsonObject) => Promise<(tx: Db) => Promise<ThreadRow>>

/** Makes a thread, or gives the one that is there unchanged when the request allows it. */
export const createThread = async (
  db: Database,
  caller: Caller,
  request: ThreadRequest,
  prepare?: Prepare,
): Promise<ThreadRow> => (await prepareThread(db, caller, request, prepare))(db)

/**
 * All of `createThread` that takes no lock.
 * @param prepare   called when there is no such thread yet
 * @returns what makes the thread: it throws `Conflict` when the id is taken and `ifExists` is `raise`, or the caller may not
 *          see who has it
 */
export async function prepareThread(
  db: Database,
  caller: Caller,
  { threadId = uuidv7(), metadata, ifExists, ttl }: ThreadRequest,
  prepare?: Prepare,
): Promise<(db: Database) => Promise<ThreadRow>> {
  const asked = { thread_id: threadId, metadata, if_exists: ifExists, ...(ttl && { ttl: ttlValue(ttl) }) }
  const { value, filter } = await caller.authorize("threads:create", asked)
  const isTaken = prepare !== undefined && (await findThread(db, threadId)) !== undefined
  const fill = isTaken ? undefined : await prepare?.(threadId, value.metadata)
  return async (tx) => {
    const created = await insertFilled(tx, { threadId, metadata: JSON.stringify(value.metadata ?? {}), ttl, fill })
    if (created) return created
    const existing = ifExists === "do_nothing" ? await findThread(tx, threadId, filter) : undefined
    if (!existing) throw new Conflict("Thread already exists", "thread_exists")
    return existing
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
 * Merges metadata key by key, and lets the thread's time begin anew.
 * @throws NotFound
 */
export async function updateThread(
  db: Database,
  caller: Caller,
  threadId: string,
  { metadata = {}, ttl }: { metadata?: JsonObject | undefined; ttl?: TtlRequest | undefined },
): Promise<ThreadRow> {
  const asked = { thread_id: threadId, metadata, ...(ttl && { ttl: ttlValue(ttl) }) }
  const { value, filter } = await caller.authorize("threads:update", asked)
  return db.transaction(async (tx) => {
    const thread = (await lockThread(tx, threadId, filter)) ?? notFound(threadId)
    if (ttl) await setTtl(tx, threadId, ttl)
    const merged = { ...JSON.parse(thread.metadata), ...value.metadata }
    return (await setMetadata(tx, threadId, JSON.stringify(merged))) ?? notFound(threadId)
  })
}

export interface Threads {
  readonly db: Database
  readonly streams: RunStreams
}

/**
 * Deletes a thread with its runs and checkpoints (T3). Runs in flight are stopped and their clients told.
 * @throws NotFound
 */
export async function deleteThread(threads: Threads, caller: Caller, threadId: string): Promise<void> {
  if (!(await removeThread(threads, caller, threadId))) notFound(threadId)
}

async function removeThread({ db, streams }: Threads, caller: Caller, threadId: string): Promise<boolean> {
  const { filter } = await caller.authorize("threads:delete", { thread_id: threadId })
  const stopped = await deleteInDatabase(db, threadId, filter)
  for (const runId of stopped ?? []) await streams.announceEnd(runId, "interrupted")
  return stopped !== undefined
}

/**
 * Deletes threads, or all of their checkpoints that are not needed to go on. Threads that are not there, or that the
 * caller may not see, do not count; with `keep_latest` neither do those with a run in flight.
 * @returns how many were pruned
 */
export async function pruneThreads(
  threads: Threads,
  caller: Caller,
  { threadIds, strategy }: { threadIds: readonly string[]; strategy: TtlStrategy },
): Promise<number> {
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
  return keepLatestCheckpoints(db, threadId, filter)
}

/** Copies a thread with all its checkpoints under a new id. */
export const copyThread = async (db: Database, caller: Caller, threadId: string): Promise<ThreadRow> =>
  (await prepareCopy(db, caller, threadId))(db)

/**
 * Asks whether the caller may copy a thread.
 * @returns what copies it
 * @throws Conflict  there is no such thread: both of LangGraph's servers answer 409 (agent-server-api §5.7)
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
  const metadata = { ...JSON.parse(source.metadata), thread_id: copyId }
  const { value } = await caller.authorize("threads:create", { thread_id: copyId, metadata, if_exists: "raise" })
  return async (tx) => {
    const copy = await copyInDatabase(tx, threadId, copyId, JSON.stringify(value.metadata ?? {}))
    if (!copy) throw gone()
    return copy
  }
}

export interface ThreadQuery extends ThreadFilter {
  readonly order: ThreadOrder
  readonly page: Page
  readonly withValues: boolean
}

// A client shows "1-10 of 10,000+" at most; a filter that matches every thread would count a million for each page.
const countedThreads = 10_000

/** @returns a page, and how many there are in all: exact up to 10,000 and one page further */
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

/** What a thread takes in the database (agent-server-api §5.9). */
export async function storageOf(db: Database, caller: Caller, threadId: string) {
  await getThread(db, caller, threadId)
  const [checkpoints, channels, writes] = await Promise.all([
    sizeOfCheckpoints(db, threadId),
    sizeOfChannels(db, threadId),
    sizeOfWrites(db, threadId),
  ])
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
