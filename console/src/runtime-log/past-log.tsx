/** The log from a time on, page by page. */
import { useInfiniteQuery } from "@tanstack/react-query"
import { Button } from "../frame/button.js"
import type { LogLine } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { RuntimeLines, type RuntimeView } from "./runtime-lines.js"

interface LogPage {
  readonly items: readonly LogLine[]
  readonly next_cursor: string | null
}

export function PastLog({ path, view }: { path: string; view: RuntimeView }) {
  const { call } = usePlatform()
  const { data, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["past-log", path],
    queryFn: ({ pageParam, signal }) =>
      call<LogPage>(pageParam === null ? path : `${path}&cursor=${encodeURIComponent(pageParam)}`, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  })
  const lines = data?.pages.flatMap(({ items }) => items) ?? []
  return (
    <>
      <RuntimeLines
        log={{ lines, isLoading: isPending, isLive: false, isCut: false, error: error ?? undefined }}
        {...view}
        startsAtTop
      />
      {hasNextPage && (
        <div className="runtime-log-more">
          <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
            Show the next 100 lines
          </Button>
        </div>
      )}
    </>
  )
}
