/** The crons of an agent, and what can be done with them. */
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import type { Agent } from "../agent/use-agent.js"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import { refreshMs } from "../requests/query-client.js"
import { readToEnd } from "../requests/read-to-end.js"
import { requestPath } from "../requests/request-path.js"

export interface CronInfo {
  readonly cron_id: string
  readonly assistant_id: string
  readonly thread_id: string | null
  readonly schedule: string
  readonly timezone: string | null
  readonly end_time: string | null
  readonly next_run_date: string | null
  readonly enabled: boolean
  /** Why the server disabled it. */
  readonly disabled_reason: string | null
  readonly on_run_completed: "delete" | "keep" | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface CreatedRun {
  readonly run_id: string
  readonly thread_id: string
}

/** The first page, as a request. */
export const cronSearch = { limit: 1000, sort_by: "next_run_date", sort_order: "asc" } as const

const send = async <Reply>(agent: Agent, method: string, path: string, body?: unknown): Promise<Reply> =>
  (await jsonOf(
    await agent.fetch(path, {
      method,
      ...(body !== undefined && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    }),
  )) as Reply

export function useCrons(): readonly CronInfo[] {
  const agent = useAgent()
  const { data } = useSuspenseQuery({
    queryKey: ["crons", agent.url],
    queryFn: () =>
      readToEnd<CronInfo>({
        pageSize: cronSearch.limit,
        idOf: ({ cron_id }) => cron_id,
        read: (offset) => send<CronInfo[]>(agent, "POST", "/runs/crons/search", { ...cronSearch, offset }),
      }),
    refetchInterval: refreshMs,
  })
  return data
}

export interface NewCron {
  readonly assistant_id: string
  readonly schedule: string
  readonly timezone: string | undefined
  readonly input: unknown
  readonly keepsThreads: boolean
}

/** The body of `POST /runs/crons`. */
export const bodyOf = ({ assistant_id, schedule, timezone, input, keepsThreads }: NewCron) => ({
  assistant_id,
  schedule,
  ...(timezone !== undefined && { timezone }),
  ...(input !== undefined && { input }),
  on_run_completed: keepsThreads ? "keep" : "delete",
})

function useReadAgain() {
  const { url } = useAgent()
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ["crons", url] })
}

export function useCreateCron() {
  const agent = useAgent()
  const readAgain = useReadAgain()
  return async (cron: NewCron) => {
    await send(agent, "POST", "/runs/crons", bodyOf(cron))
    await readAgain()
  }
}

export function useCronActions() {
  const agent = useAgent()
  const onSuccess = useReadAgain()
  return {
    enable: useMutation({
      mutationFn: ({ cronId, enabled }: { cronId: string; enabled: boolean }) =>
        send(agent, "PATCH", requestPath`/runs/crons/${cronId}`, { enabled }),
      onSuccess,
    }),
    runNow: useMutation({
      mutationFn: (cronId: string) => send<CreatedRun>(agent, "POST", requestPath`/runs/crons/${cronId}/run`),
    }),
    remove: async (cronId: string) => {
      await send(agent, "DELETE", requestPath`/runs/crons/${cronId}`)
      await onSuccess()
    },
  }
}
