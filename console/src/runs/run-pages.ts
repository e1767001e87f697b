/** What the list reads of runs, a page at a time as they come into view. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { type Agent, useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../frame/api-error.js"
import type { ApiRequest } from "../frame/curl.js"
import type { RunInfo } from "../run/run-data.js"
import { conditionsOf, type Filters } from "./filters.js"

/** A run as `POST /runs/search` shows it. */
export interface ListedRun extends RunInfo {
  readonly graph_id: string
  readonly user_id: string | null
}

const shown = [
  ...["run_id", "thread_id", "assistant_id", "graph_id", "status", "created_at", "updated_at"],
  ...["attempt", "error", "cancel_reason", "metadata", "user_id"],
]

export interface RunPage {
  readonly runs: readonly ListedRun[]
  readonly next: string | null
  /** When it was read, by the clock that dates runs. */
  readonly now: string
}

const path = "/runs/search"
const pageSize = 100
const refreshMs = 5000
// So many pages without a match are read by themselves; each looks at some thousand runs.
const mostEmptyPages = 20

const bodyOf = (filters: Filters, cursor: string | null): object => ({
  ...conditionsOf(filters, Date.now()),
  select: shown,
  limit: pageSize,
  ...(cursor !== null && { cursor }),
})

/** What the list reads first, for "copy as curl". */
export const listRequest = (agent: Agent, filters: Filters): ApiRequest =>
  agentRequest(agent, "POST", path, bodyOf(filters, null))

export const runsKey = (agent: Pick<Agent, "url">) => ["runs", agent.url]

/** Pages are read once, further and further back. The newest is read again and again beside them. */
export function useRunPages(filters: Filters) {
  const agent = useAgent()
  const queries = useQueryClient()
  const read = async (cursor: string | null, signal: AbortSignal): Promise<RunPage> => {
    const body = JSON.stringify(bodyOf(filters, cursor))
    const headers = { "content-type": "application/json" }
    return (await jsonOf(await agent.fetch(path, { method: "POST", headers, body, signal }))) as RunPage
  }
  const pagesKey = [...runsKey(agent), "pages", filters]
  const pages = useInfiniteQuery({
    queryKey: pagesKey,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const newest = useQuery({
    queryKey: [...runsKey(agent), "newest", filters],
    queryFn: ({ signal }) => read(null, signal),
    refetchInterval: refreshMs,
  })
  const past = pages.data?.pages ?? []
  const known = useMemo(() => (pages.data?.pages ?? []).flatMap(({ runs }) => runs), [pages.data])
  const runs = useMemo(() => (newest.data ? withNewest(known, newest.data) : known), [known, newest.data])
  const isCut = areApart(past[0], newest.data)
  useEffect(() => {
    if (isCut) void queries.resetQueries({ queryKey: pagesKey })
  })
  const lastFull = past.findLastIndex(({ runs }) => runs.length > 0)
  return {
    runs,
    /** False until the first page is there. */
    isRead: pages.data !== undefined,
    error: pages.error ?? newest.error,
    hasMore: pages.hasNextPage,
    isReading: pages.isFetchingNextPage,
    /** It has looked back to this moment without a match: the person says whether it goes on. */
    pausedAt: pages.hasNextPage && past.length - 1 - lastFull >= mostEmptyPages ? momentOf(past.at(-1)) : undefined,
    readMore: () => void pages.fetchNextPage({ cancelRefetch: false }),
  }
}

/** Down to which moment the page has looked; "" for all. */
const momentOf = (page: RunPage | undefined): string => page?.next?.slice(0, millisecond) ?? ""

// Times of runs have milliseconds, that of a page microseconds: `2026-11-28T09:00:00.123`.
const millisecond = 23

/** Whether so many runs have come since the first page was read that some lie between it and the newest one. */
export const areApart = (first: RunPage | undefined, newest: RunPage | undefined): boolean =>
  first !== undefined && momentOf(newest) > first.now.slice(0, millisecond)

/** What is known, with the newest page as it is now: it has new runs and new statuses, and what it should have and has not is gone. */
export function withNewest(known: readonly ListedRun[], newest: RunPage): readonly ListedRun[] {
  const end = momentOf(newest)
  const ids = new Set(newest.runs.map(({ run_id }) => run_id))
  const older = ({ run_id, created_at }: ListedRun) => !ids.has(run_id) && created_at.slice(0, millisecond) <= end
  return [...newest.runs, ...known.filter(older)]
}
