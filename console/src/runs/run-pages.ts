/** What the list reads of runs, a page at a time as they come into view. */
import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { useMemo } from "react"
import { agentRequest } from "../agent/agent-request.js"
import { type Agent, useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../frame/api-error.js"
import type { ApiRequest } from "../frame/curl.js"
import { isOver } from "../run/read-run.js"
import type { RunInfo } from "../run/run-data.js"
import { conditionsOf, type Filters } from "./filters.js"

/** A run as `POST /runs/search` shows it. */
export interface ListedRun extends RunInfo {
  readonly graph_id: string
  readonly due_at: string
  readonly user_id: string | null
}

const shown = [
  ...["run_id", "thread_id", "assistant_id", "graph_id", "status", "created_at", "due_at", "updated_at"],
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
// For statuses of old runs, which are seldom in flight: all pages are read again.
const rereadMs = 15_000
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

/** Reads a page of runs. @param cursor  the end of the page before; null for the newest */
export async function readRunPage(
  agent: Pick<Agent, "fetch">,
  filters: Filters,
  cursor: string | null,
  signal: AbortSignal,
): Promise<RunPage> {
  const body = JSON.stringify(bodyOf(filters, cursor))
  const headers = { "content-type": "application/json" }
  return (await jsonOf(await agent.fetch(path, { method: "POST", headers, body, signal }))) as RunPage
}

export const runsKey = (agent: Pick<Agent, "url">) => ["runs", agent.url]

/** Pages are read once, further and further back. The newest one is read again and again, and goes into the first. */
export function useRunPages(filters: Filters) {
  const agent = useAgent()
  const queries = useQueryClient()
  const read = (cursor: string | null, signal: AbortSignal) => readRunPage(agent, filters, cursor, signal)
  const pagesKey = [...runsKey(agent), "pages", filters]
  const pages = useInfiniteQuery({
    queryKey: pagesKey,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state }) => (isOldOneInFlight(state.data?.pages ?? []) ? rereadMs : false),
  })
  const newest = useQuery({
    queryKey: [...runsKey(agent), "newest", filters],
    queryFn: async ({ signal }) => {
      const page = await read(null, signal)
      const data = queries.getQueryData<InfiniteData<RunPage, string | null>>(pagesKey)
      const merged = data && withNewest(data.pages, page)
      if (merged) queries.setQueryData(pagesKey, { ...data, pages: merged })
      else if (data) await queries.resetQueries({ queryKey: pagesKey })
      return page.now
    },
    refetchInterval: refreshMs,
  })
  const runs = useMemo(() => listedIn(pages.data?.pages ?? []), [pages.data])
  const empty = emptyAtEnd(pages.data?.pages ?? [])
  const isPaused = pages.hasNextPage && empty > 0 && empty % mostEmptyPages === 0
  return {
    runs,
    /** False until the first page is there. */
    isRead: pages.data !== undefined,
    error: pages.error ?? newest.error,
    hasMore: pages.hasNextPage,
    isReading: pages.isFetchingNextPage,
    /** It does not read on by itself: a page could not be read, or it has looked far back without a match. */
    isHeld: isPaused || pages.isFetchNextPageError,
    /** Back to which moment it has looked without a match, when it waits for the person to say whether it goes on. */
    pausedAt: isPaused ? `${endOf(pages.data?.pages.at(-1))}Z` : undefined,
    readMore: () => void pages.fetchNextPage({ cancelRefetch: false }),
  }
}

/** Down to which moment the page has looked; "" for all. */
const endOf = (page: RunPage | undefined): string => page?.next?.slice(0, millisecond) ?? ""

// Times of runs have milliseconds, that of a page microseconds: `2026-11-28T09:00:00.123`.
const millisecond = 23

/** Each run once, as the first of the pages shows it. */
export const listedIn = (pages: readonly RunPage[]): ListedRun[] =>
  [
    ...new Map(pages.toReversed().flatMap(({ runs }) => runs.toReversed().map((run) => [run.run_id, run]))).values(),
  ].reverse()

const emptyAtEnd = (pages: readonly RunPage[]): number =>
  pages.length - 1 - pages.findLastIndex(({ runs }) => runs.length > 0)

/** Whether a run is not over that the newest page does not show any more. */
const isOldOneInFlight = (pages: readonly RunPage[]): boolean =>
  listedIn(pages)
    .slice(pageSize)
    .some((run) => !isOver(run))

/**
 * The pages, the first with what the newest shows: new runs and new statuses; what it should have and has not is gone.
 * @returns undefined when so many runs have come that some lie between the two
 */
export function withNewest(pages: readonly RunPage[], newest: RunPage): RunPage[] | undefined {
  const [first, ...others] = pages
  if (!first) return undefined
  const end = endOf(newest)
  if (end > first.now.slice(0, millisecond)) return undefined
  const ids = new Set(newest.runs.map(({ run_id }) => run_id))
  const isOlder = ({ run_id, created_at }: ListedRun) => !ids.has(run_id) && created_at.slice(0, millisecond) <= end
  const rest = others.map((page) => ({ ...page, runs: page.runs.filter(isOlder) }))
  return [{ ...first, now: newest.now, runs: [...newest.runs, ...first.runs.filter(isOlder)] }, ...rest]
}
