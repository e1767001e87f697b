/** The list of runs of one or several agents, which reads on as it is scrolled. Each agent is read alone: one that does not answer hides no other. */
import { type UseQueryResult, useMutation, useQueries, useQueryClient } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import type { Filters } from "./filters.js"
import { type Merged, merged, type RunSource } from "./merged.js"
import { type ReadRuns, readAgain, readRunPage, withOlder, withOlderError } from "./run-pages.js"

// So many pages of an agent, and of all, are read by themselves without a run that matches; each looks at some thousand runs.
const mostEmptyPages = 20
const mostEmptyPagesOfAll = 100

interface Pace {
  /** How many runs a page of one agent has. */
  readonly pageSize: number
  /** How often the newest page is read. */
  readonly refreshMs: number
}

export interface Refused {
  readonly source: RunSource
  readonly error: unknown
}

export interface Runs extends Omit<Merged, "toRead" | "fruitless"> {
  /** How many agents have answered since the list is asked for, or have failed to. */
  readonly heard: number
  /** The agents that did not answer when they were asked last, and why. */
  readonly refused: readonly Refused[]
  readonly hasMore: boolean
  readonly isReading: boolean
  /** It does not read on by itself: older runs could not be read, or it has looked far back without a match. */
  readonly isHeld: boolean
  /** Down to which time it has looked without a match, when it waits for the person to say whether it goes on. */
  readonly pausedAt: string | undefined
  readonly readMore: () => void
  /** Asks those again that have not answered when they were asked for older runs. */
  readonly askAgain: () => void
}

/** The key of all that is read of an agent's runs. @param id  of a source */
export const runsKey = (id: string) => ["runs", id]

/** @param sources  the same array while they are the same agents */
export function useRuns(sources: readonly RunSource[], filters: Filters, { pageSize, refreshMs }: Pace): Runs {
  const queries = useQueryClient()
  const keyOf = ({ id }: RunSource) => [...runsKey(id), filters]
  const readerOf = (source: RunSource, signal?: AbortSignal) => (cursor?: string) =>
    readRunPage(source, filters, { cursor, limit: pageSize }, signal)
  const results = useQueries({
    queries: sources.map((source) => {
      const queryKey = keyOf(source)
      return {
        queryKey,
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          readAgain({
            read: readerOf(source, signal),
            known: () => queries.getQueryData<ReadRuns>(queryKey),
            isOutdated: queries.getQueryState(queryKey)?.isInvalidated === true,
            now: Date.now(),
          }),
        refetchInterval: refreshMs,
        retry: false,
      }
    }),
    combine: onlyAnswers,
  })
  const { toRead, fruitless, ...list } = useMemo(
    () => merged(sources.flatMap((source, n) => (results[n]?.data ? [{ source, known: results[n].data }] : []))),
    [sources, results],
  )
  const older = useMutation({
    mutationFn: (asked: readonly RunSource[]) =>
      Promise.all(
        asked.map(async (source) => {
          const cursor = queries.getQueryData<ReadRuns>(keyOf(source))?.pages.at(-1)?.next
          if (typeof cursor !== "string") return
          const change = (changed: (known: ReadRuns) => ReadRuns) =>
            queries.setQueryData<ReadRuns>(keyOf(source), (known) => known && changed(known))
          try {
            const page = await readerOf(source)(cursor)
            change((known) => withOlder(known, cursor, page))
          } catch (error) {
            change((known) => withOlderError(known, cursor, error))
          }
        }),
      ),
  })
  // What the person has allowed goes for the list as it is.
  const place = JSON.stringify([filters, list.runs.length])
  const [allowed, allow] = useState({ place, pages: 0 })
  const mostEmpty = Math.min(mostEmptyPagesOfAll, mostEmptyPages * sources.length)
  const isPaused = toRead.length > 0 && fruitless >= (allowed.place === place ? allowed.pages : 0) + mostEmpty
  return {
    ...list,
    heard: results.filter(({ isPending }) => !isPending).length,
    refused: sources.flatMap((source, n) => (results[n]?.error ? [{ source, error: results[n].error }] : [])),
    hasMore: toRead.length > 0 || list.cutShort.length > 0,
    isReading: older.isPending,
    isHeld: isPaused || toRead.length === 0,
    pausedAt: isPaused ? list.wholeSince : undefined,
    readMore: () => {
      if (isPaused) allow({ place, pages: fruitless })
      older.mutate(toRead)
    },
    askAgain: () => older.mutate(list.cutShort.map(({ source }) => source)),
  }
}

// The same result while nothing has changed, so that a list of thousands is not merged anew.
const onlyAnswers = (results: readonly UseQueryResult<ReadRuns>[]) =>
  results.map(({ data, error, isPending }) => ({ data, error, isPending }))
