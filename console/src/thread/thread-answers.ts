/** What was answered to a thread's questions: what the server keeps, and the answer that a run is bringing now. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { useAgent } from "../agent/use-agent.js"
import type { Interrupt } from "../approvals/interrupt.js"
import { jsonOf } from "../requests/api-error.js"
import { requestPath } from "../requests/request-path.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import type { GivenAnswer } from "./exchanges.js"
import type { LastRun } from "./run-facts.js"

// A thread with more answers than this shows the newest ones.
const mostAnswers = 500

interface Asked {
  readonly threadId: string
  /** The run that executes, or waits. */
  readonly openRun: LastRun | undefined
  /** The newest checkpoint. */
  readonly present: TreeItem | undefined
  /** Changes with the thread's newest run, and with its end. */
  readonly version: string
}

/** @returns  the answers, and why they are not known if they are not */
export function useThreadAnswers({ threadId, openRun, present, version }: Asked) {
  const { fetch, url } = useAgent()
  const { data, error } = useQuery({
    queryKey: ["answers", url, threadId, version],
    queryFn: ({ signal }) => readAnswers((path) => fetch(path, { signal }), threadId),
    placeholderData: keepPreviousData,
  })
  const answers = useMemo(() => {
    const coming = openRun && answerComing(openRun, present)
    return [...(data ?? []), ...(coming ? [coming] : [])]
  }, [data, openRun, present])
  return { answers, error }
}

/** Reads page after page: a page of long answers ends early. */
async function readAnswers(get: (path: string) => Promise<Response>, threadId: string): Promise<GivenAnswer[]> {
  const answers: GivenAnswer[] = []
  for (let offset: string | null = "0"; offset !== null && answers.length < mostAnswers; ) {
    const reply = await get(`${requestPath`/threads/${threadId}/answers`}?limit=${mostAnswers}&offset=${offset}`)
    // An agent server of an earlier release keeps no answers.
    if (reply.status === 404) return []
    answers.push(...((await jsonOf(reply)) as GivenAnswer[]))
    offset = reply.headers.get("x-pagination-next")
  }
  return answers
}

/** The answer that a run brings which has not ended: the server keeps it at its end. */
export function answerComing(
  { run_id, status, created_at, kwargs }: LastRun,
  present: TreeItem | undefined,
): GivenAnswer | undefined {
  const command = kwargs?.command as { readonly resume?: unknown } | null | undefined
  if ((status !== "pending" && status !== "running") || command?.resume === undefined) return undefined
  const asking = (present?.item.tasks ?? []).filter(({ interrupts }) => interrupts?.length)
  const interrupts = Object.fromEntries(
    asking.map(({ id = "", interrupts = [] }) => [id, interrupts as readonly Interrupt[]]),
  )
  return { run_id, interrupts, resume: command.resume, answered_at: created_at, user_id: null, status: "running" }
}
