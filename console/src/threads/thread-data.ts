/** What the list reads of threads, a page at a time as they come into view. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query"
import { type Agent, useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../frame/api-error.js"
import { conditionsOf, type Filters, type ThreadStatus } from "./filters.js"

export interface ListedThread {
  readonly thread_id: string
  readonly status: ThreadStatus
  readonly metadata: Readonly<Record<string, unknown>>
  readonly updated_at: string
  readonly extracted: { readonly first: unknown; readonly last: unknown }
}

export const pageSize = 100
// A list that is looked at shows what changes; a page of it costs the server some milliseconds.
const refreshMs = 5000

const shown = {
  select: ["thread_id", "status", "metadata", "updated_at"],
  extract: { first: "values.messages[0].content", last: "values.messages[-1].content" },
}

/** The request behind a page of the list, also for "copy as curl". */
export const searchRequest = (filters: Filters, page: number) => ({
  ...conditionsOf(filters, Date.now()),
  ...shown,
  limit: pageSize,
  offset: page * pageSize,
})

async function post<Reply>({ fetch }: Agent, path: string, body: object, signal: AbortSignal): Promise<Reply> {
  const headers = { "content-type": "application/json" }
  return (await jsonOf(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }))) as Reply
}

/** How many threads the filters leave. */
export function useThreadCount(filters: Filters) {
  const agent = useAgent()
  return useQuery({
    queryKey: ["threads", agent.url, filters, "count"],
    queryFn: ({ signal }) => post<number>(agent, "/threads/count", conditionsOf(filters, Date.now()), signal),
    refetchInterval: refreshMs,
    placeholderData: keepPreviousData,
  })
}

/** @param pages  the numbers of the pages in view @returns  a thread by its row; undefined while it is being read */
export function useThreadRows(filters: Filters, pages: readonly number[]) {
  const agent = useAgent()
  const results = useQueries({
    queries: pages.map((page) => ({
      queryKey: ["threads", agent.url, filters, page],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        post<ListedThread[]>(agent, "/threads/search", searchRequest(filters, page), signal),
      refetchInterval: refreshMs,
    })),
  })
  const error = results.find((result) => result.isError)?.error
  const rowAt = (row: number): ListedThread | undefined =>
    results[pages.indexOf(Math.floor(row / pageSize))]?.data?.[row % pageSize]
  return { rowAt, error }
}

/** @returns the numbers of the pages that hold these rows */
export const pagesOf = (first: number, last: number): number[] => {
  const from = Math.floor(first / pageSize)
  return Array.from({ length: Math.max(0, Math.floor(last / pageSize) - from + 1) }, (_, index) => from + index)
}
