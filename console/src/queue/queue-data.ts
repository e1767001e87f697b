/** The queue of an agent: Superstep's extension `GET /queue`. */
import { useSuspenseQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"

export interface QueuedRun {
  readonly run_id: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly graph_id: string
  readonly status: "pending" | "running"
  readonly attempt: number
  readonly created_at: string
  readonly since: string
  readonly position: number | null
  readonly wait: {
    readonly reason: string
    readonly message: string
    readonly run_id: string | null
    readonly until: string | null
  } | null
}

export interface QueuePage {
  readonly runs: readonly QueuedRun[]
  readonly total: number
}

export const pageSize = 100
// All of them are one request, and the server sends 1000 runs at most.
export const mostPages = 10
const refreshMs = 2000

export const pathOf = (status: "pending" | "running", pages = 1): string =>
  `/queue?status=${status}&limit=${pageSize * Math.min(mostPages, pages)}`

export function useQueue(status: "pending" | "running", pages: number): QueuePage {
  const agent = useAgent()
  const { data } = useSuspenseQuery({
    queryKey: ["queue", agent.url, status, pages],
    queryFn: async ({ signal }): Promise<QueuePage> => {
      const reply = await agent.fetch(pathOf(status, pages), { signal })
      const total = Number(reply.headers.get("x-pagination-total"))
      const runs = (await jsonOf(reply)) as QueuedRun[]
      // A page of another origin sees the header only if the server exposes it.
      return { runs, total: Math.max(runs.length, total) }
    },
    refetchInterval: refreshMs,
  })
  return data
}
