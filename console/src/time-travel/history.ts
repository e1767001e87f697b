/** What is read of a thread's past, the newest page first. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import { useCallback, useMemo } from "react"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../frame/api-error.js"
import { type CheckpointTree, type HistoryItem, treeOf } from "./checkpoint-tree.js"
import { historyPath, pageSize } from "./history-request.js"

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
