/** Everything that the page of a run shows, read again while the run is not over, and until its trace is complete. */
import { useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import { nextReadMs, type RunPlace, readRun, refreshMs } from "./read-run.js"
import type { RunHistory } from "./waterfall.js"

export function useRun(place: RunPlace): RunHistory {
  const agent = useAgent()
  const queries = useQueryClient()
  const queryKey = ["run", agent.url, place.runId]
  const { data } = useSuspenseQuery({
    queryKey,
    queryFn: () => readRun(agent, place, queries.getQueryData<RunHistory>(queryKey)),
    refetchInterval: ({ state }) => (state.data ? nextReadMs(state.data) : refreshMs),
  })
  return data
}

/** Why the run waits, while it does. */
export function useWait({ runId }: RunPlace, isWaiting: boolean): string | undefined {
  const agent = useAgent()
  const { data } = useQuery({
    queryKey: ["run-wait", agent.url, runId],
    queryFn: async () => {
      const query = new URLSearchParams({ run_id: runId })
      const [run] = (await jsonOf(await agent.fetch(`/queue?${query}`))) as { wait: { message: string } | null }[]
      return run?.wait?.message ?? null
    },
    enabled: isWaiting,
    refetchInterval: refreshMs,
  })
  return isWaiting ? (data ?? undefined) : undefined
}
