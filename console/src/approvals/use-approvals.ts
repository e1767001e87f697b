/** The waiting interrupts of an agent, and sending answers to them. */
import { type QueryClient, useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { askInTurn } from "../agent/ask-in-turn.js"
import { useAgent } from "../agent/use-agent.js"
import { everyMs } from "../requests/query-client.js"
import { type SentAnswer, sendAnswers } from "./answers.js"
import { interruptedSearch, readInterrupted } from "./read-interrupted.js"
import { type Answered, type InterruptedThread, waitingOf } from "./waiting.js"

// People answer here one after the other, often several of them at a time.
const quickMs = 3000

/** @param among  how many agents the page asks; undefined: only this one */
export function useApprovals(among: number | undefined) {
  const { client, url } = useAgent()
  const { data } = useSuspenseQuery({
    queryKey: keyOf(url),
    queryFn: (query) => {
      const ask = (signal: AbortSignal) => readInterrupted({ client }, signal)
      return among === undefined ? ask(query.signal) : askInTurn(ask, query.signal)
    },
    refetchInterval: ({ state }) => {
      const requests = Math.max(1, Math.ceil((state.data?.length ?? 0) / interruptedSearch.limit))
      return among === undefined ? everyMs(requests, quickMs) : everyMs(requests * among)
    },
  })
  return useMemo(() => waitingOf(data), [data])
}

const keyOf = (url: string) => ["approvals", url]

/** What was answered leaves the list at once, and comes back if its graph asks again. */
export async function leaveList(queries: QueryClient, url: string, sent: readonly SentAnswer[]): Promise<void> {
  const answered = new Set(sent.filter(({ runId }) => runId !== undefined).map(({ threadId }) => threadId))
  // A reading that began before the answers would bring their questions back.
  await queries.cancelQueries({ queryKey: keyOf(url) })
  queries.setQueryData<InterruptedThread[]>(keyOf(url), (threads) =>
    threads?.filter(({ thread_id }) => !answered.has(thread_id)),
  )
}

export function useAnswers() {
  const { client, url } = useAgent()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (answered: readonly Answered[]) => sendAnswers(client, answered),
    onSuccess: (sent) => leaveList(queries, url, sent),
  })
}
