/** What the list reads of threads, a page at a time as they come into view. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query"
import { agentRequest } from "../agent/agent-request.js"
import { type Agent, useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import type { ApiRequest } from "../requests/curl.js"
import { refreshMs } from "../requests/query-client.js"
import { conditionsOf, type Filters, type ThreadStatus } from "./filters.js"

export interface ListedThread {
  readonly thread_id: string
  readonly status: ThreadStatus
  readonly metadata: Readonly<Record<string, unknown>>
  readonly updated_at: string
  readonly extracted: { readonly first: unknown; readonly last: unknown }
}

export const pageSize = 100

const shown = {
  select: ["thread_id", "status", "metadata", "updated_at"],
  extract: { first: "values.messages[0].content", last: "values.messages[-1].content" },
}

interface Request {
  readonly path: string
  readonly body: object
}

const countRequest = (filters: Filters): Request => ({
  path: "/threads/count",
  body: conditionsOf(filters, Date.now()),
})

const searchRequest = (filters: Filters, page: number): Request => ({
  path: "/threads/search",
  body: { ...conditionsOf(filters, Date.now()), ...shown, limit: pageSize, offset: page * pageSize },
})

/** What the list reads, for "copy as curl": how many threads there are, and the first of them. */
export const listRequests = (agent: Agent, filters: Filters): ApiRequest[] =>
  [countRequest(filters), searchRequest(filters, 0)].map(({ path, body }) => agentRequest(agent, "POST", path, body))

async function post<Reply>({ fetch }: Agent, { path, body }: Request, signal: AbortSignal): Promise<Reply> {
  const headers = { "content-type": "application/json" }
  return (await jsonOf(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }))) as Reply
}

/** How many threads the filters leave. */
export function useThreadCount(filters: Filters) {
  const agent = useAgent()
  return useQuery({
    queryKey: ["threads", agent.url, filters, "count"],
    queryFn: ({ signal }) => post<number>(agent, countRequest(filters), signal),
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
        post<ListedThread[]>(agent, searchRequest(filters, page), signal),
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
