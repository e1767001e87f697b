/** What is read of a thread's past, the newest page first. */
import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import { useCallback, useMemo } from "react"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import { type CheckpointTree, type HistoryItem, treeOf } from "./checkpoint-tree.js"
import { historyPath, pageSize } from "./history-request.js"
import { withNewest } from "./newest.js"

// Most often one or two checkpoints are new; quick steps write several at a time.
const newestSize = 4

export interface History {
  readonly tree: CheckpointTree
  readonly hasOlder: boolean
  readonly isReadingOlder: boolean
  readonly readOlder: () => void
  readonly isPending: boolean
  readonly error: unknown
}

const historyKey = (url: string, threadId: string) => ["history", url, threadId]

export function useHistory(threadId: string): History {
  const { fetch, url } = useAgent()
  const query = useInfiniteQuery({
    queryKey: historyKey(url, threadId),
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      (await jsonOf(await fetch(historyPath(threadId, { before: pageParam }), { signal }))) as HistoryItem[],
    getNextPageParam: (page) =>
      page.length < pageSize ? undefined : (page.at(-1)?.checkpoint.checkpoint_id ?? undefined),
  })
  const tree = useMemo(() => treeOf(query.data?.pages.flat() ?? []), [query.data])
  return {
    tree,
    hasOlder: query.hasNextPage,
    isReadingOlder: query.isFetchingNextPage,
    readOlder: () => void query.fetchNextPage(),
    isPending: query.isPending,
    error: query.error,
  }
}

/** Reads the history again, for example after a checkpoint was written. */
export function useHistoryChanged(threadId: string): () => Promise<void> {
  const queryClient = useQueryClient()
  const { url } = useAgent()
  return useCallback(
    () => queryClient.invalidateQueries({ queryKey: historyKey(url, threadId) }),
    [queryClient, url, threadId],
  )
}

/** Reads only the newest checkpoints, since the older ones do not change while a run executes. */
export function useHistoryGrows(threadId: string): () => Promise<void> {
  const queryClient = useQueryClient()
  const { fetch, url } = useAgent()
  const changed = useHistoryChanged(threadId)
  return useCallback(async () => {
    const queryKey = historyKey(url, threadId)
    const readAt = () => queryClient.getQueryState(queryKey)?.dataUpdatedAt
    const read = async (): Promise<boolean> => {
      const before = readAt()
      const path = historyPath(threadId, { limit: newestSize })
      const newest = (await jsonOf(await fetch(path))) as HistoryItem[]
      // The whole history was read in the meantime, and may be newer.
      if (readAt() !== before) return read()
      const data = queryClient.getQueryData<Pages>(queryKey)
      const grown = data?.pages[0] && withNewest(newest, data.pages[0])
      if (grown) queryClient.setQueryData<Pages>(queryKey, { ...data, pages: [grown, ...data.pages.slice(1)] })
      return grown !== undefined
    }
    // After a gap or an error all is read again; that query shows an error on the page.
    if (!(await read().catch(() => false))) await changed()
  }, [queryClient, fetch, url, threadId, changed])
}

type Pages = InfiniteData<HistoryItem[], string | undefined>
