/** Routes of whole threads. Their state is in `state-routes.ts`. */
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { pageHeaders } from "../http/pagination.js"
import { once } from "../idempotency/once.js"
import { extract } from "./extract.js"
import {
  countThreads,
  deleteThread,
  getThread,
  getThreadWithTtl,
  prepareCopy,
  prepareThread,
  pruneThreads,
  searchThreads,
  storageOf,
  type Threads,
  updateThread,
} from "./operations.js"
import {
  foundThread,
  newThread,
  prune,
  storage,
  thread,
  threadChange,
  threadCount,
  threadInclude,
  threadParams,
  threadSearch,
} from "./schema.js"
import { type ThreadStates, withState } from "./state-operations.js"
import { pick, renderThread, type ThreadRow } from "./thread.js"

export const tags = ["Threads"]
const found = { 200: { description: "The thread", schema: thread } }
const invalid = { 422: { description: "Invalid input" } }
export const missing = { 404: { description: "No such thread" }, ...invalid }

interface ThreadRoutes extends Threads, ThreadStates {
  /** Gets each new thread, so that its first run need not read it. */
  readonly known: { noteThread(threadId: string, thread: ThreadRow): void }
}

export function addThreadRoutes(api: Api, parts: ThreadRoutes): void {
  addNewThreadRoutes(api, parts)
  addOneThreadRoutes(api, parts)
  addManyThreadsRoutes(api, parts)
}

function addNewThreadRoutes(api: Api, { db, workers, known }: ThreadRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/threads",
    summary: "Create a thread",
    // With supersteps a graph computes its state.
    lasts: "long",
    tags,
    body: newThread,
    responses: {
      ...found,
      400: { description: "Supersteps without metadata.graph_id" },
      409: { description: "The id is taken" },
      ...invalid,
    },
    handle: ({ c, body, bodyText }) =>
      once(db, { c, bodyText }, async () => {
        const request = {
          threadId: body.thread_id ?? undefined,
          metadata: body.metadata ?? {},
          ifExists: body.if_exists ?? ("raise" as const),
          ttl: body.ttl ?? undefined,
        }
        const prepare = body.supersteps?.length ? withState({ db, workers }, callerOf(c), body.supersteps) : undefined
        const create = await prepareThread(db, callerOf(c), request, prepare)
        return async (tx) => {
          const row = await create(tx)
          known.noteThread(row.thread_id, row)
          return jsonResponse(renderThread(row))
        }
      }),
  })
  addRoute(api, {
    method: "post",
    path: "/threads/{thread_id}/copy",
    summary: "Copy a thread with its checkpoints",
    lasts: "long",
    tags,
    params: threadParams,
    responses: { ...found, 409: { description: "No such thread" }, ...invalid },
    handle: ({ c, params, bodyText }) =>
      once(db, { c, bodyText }, async () => {
        const copy = await prepareCopy(db, callerOf(c), params.thread_id)
        return (tx) => tx.transaction(async (part) => jsonResponse(renderThread(await copy(part))))
      }),
  })
}

function addOneThreadRoutes(api: Api, threads: Threads): void {
  const { db } = threads
  const one = { path: "/threads/{thread_id}", tags, params: threadParams }
  addRoute(api, {
    ...one,
    method: "get",
    summary: "Get a thread",
    query: threadInclude,
    responses: { ...found, ...missing },
    handle: async ({ c, params, query }) => {
      if (!query.include?.includes("ttl"))
        return jsonResponse(renderThread(await getThread(db, callerOf(c), params.thread_id)))
      const { row, ttl } = await getThreadWithTtl(db, callerOf(c), params.thread_id)
      return jsonResponse({ ...renderThread(row), ttl })
    },
  })
  addRoute(api, {
    ...one,
    method: "patch",
    summary: "Change a thread's metadata or time to live",
    body: threadChange,
    responses: { ...found, 204: { description: "Done (with Prefer: return=minimal)" }, ...missing },
    handle: async ({ c, params, body }) => {
      const change = { metadata: body.metadata ?? undefined, ttl: body.ttl ?? undefined }
      const row = await updateThread(db, callerOf(c), params.thread_id, change)
      if (!wantsMinimal(c)) return jsonResponse(renderThread(row))
      return new Response(null, { status: 204, headers: { "preference-applied": "return=minimal" } })
    },
  })
  addRoute(api, {
    ...one,
    method: "delete",
    summary: "Delete a thread with its runs and checkpoints",
    lasts: "long",
    responses: { 204: { description: "It is gone" }, ...missing },
    handle: async ({ c, params }) => {
      await deleteThread(threads, callerOf(c), params.thread_id)
      return new Response(null, { status: 204 })
    },
  })
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/storage",
    summary: "What a thread takes in the database",
    lasts: "long",
    tags,
    params: threadParams,
    responses: { 200: { description: "Counts and bytes", schema: storage }, ...missing },
    handle: async ({ c, params }) => jsonResponse(await storageOf(db, callerOf(c), params.thread_id)),
  })
}

const wantsMinimal = (c: Context): boolean => /(^|[,;\s])return\s*=\s*"?minimal\b/i.test(c.req.header("prefer") ?? "")

function addManyThreadsRoutes(api: Api, threads: Threads): void {
  const { db } = threads
  addRoute(api, {
    method: "post",
    path: "/threads/search",
    lasts: "long",
    summary: "Search threads",
    tags,
    body: threadSearch,
    responses: { 200: { description: "The threads of this page", schema: z.array(foundThread) }, ...invalid },
    handle: async ({ c, body }) => {
      const page = { limit: body.limit, offset: body.offset }
      // The most recently used first, as in the Platform (agent-server-api §5.2).
      const order = { sortBy: body.sort_by ?? "updated_at", sortOrder: body.sort_order ?? "desc" } as const
      const select = body.select?.length ? body.select : undefined
      const paths = body.extract ?? undefined
      const withValues = select?.includes("values") !== false || Object.values(paths ?? {}).some(isOfValues)
      const query = { ...filterOf(body), order, page, withValues }
      const { threads: rows, total } = await searchThreads(db, callerOf(c), query)
      const items = rows.map((row) => ({ ...shown(row, select), ...(paths && { extracted: extract(row, paths) }) }))
      return jsonResponse(items, 200, pageHeaders(page, total))
    },
  })
  addRoute(api, {
    method: "post",
    path: "/threads/count",
    lasts: "long",
    summary: "Count threads",
    tags,
    body: threadCount,
    responses: { 200: { description: "How many there are", schema: z.int() }, ...invalid },
    handle: async ({ c, body }) => jsonResponse(await countThreads(db, callerOf(c), filterOf(body))),
  })
  addRoute(api, {
    method: "post",
    path: "/threads/prune",
    summary: "Delete threads, or their old checkpoints",
    lasts: "long",
    tags,
    body: prune,
    responses: {
      200: { description: "How many were pruned", schema: z.object({ pruned_count: z.int() }) },
      ...invalid,
    },
    handle: async ({ c, body: { thread_ids: threadIds, strategy } }) =>
      jsonResponse({ pruned_count: await pruneThreads(threads, callerOf(c), { threadIds, strategy }) }),
  })
}

const filterOf = (asked: z.output<typeof threadCount>) => ({
  ids: asked.ids ?? undefined,
  metadata: asked.metadata ?? undefined,
  values: asked.values ?? undefined,
  status: asked.status ?? undefined,
  text: asked.text ?? undefined,
  updatedAfter: timeOf(asked.updated_after),
  updatedBefore: timeOf(asked.updated_before),
})

const timeOf = (text: string | null | undefined): Date | undefined => (text ? new Date(text) : undefined)

const shown = (row: ThreadRow, select: readonly string[] | undefined): object =>
  select ? pick(renderThread(row), select) : renderThread(row)

const isOfValues = (path: string): boolean => path.startsWith("values")
