/** Everything that the page of a run shows, read again every second while the run is not over. */
import { useQuery, useSuspenseQuery } from "@tanstack/react-query"
import type { Agent } from "../agent/use-agent.js"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../frame/api-error.js"
import { requestPath } from "../frame/request-path.js"
import type { Attempts, RunInfo, StateInfo, TimedEvent } from "./run-data.js"
import type { RunHistory } from "./waterfall.js"

const refreshMs = 1000
// Enough for long runs; a run of more super-steps shows its last ones.
const historyLimit = 200
const eventsPage = 1000
// Of a run with very many events the first ones are shown.
const maxEvents = 5000

export interface RunPlace {
  readonly threadId: string
  readonly runId: string
}

/** The requests of the page, as paths and bodies: also for "copy as curl". */
export const requestsOf = ({ threadId, runId }: RunPlace) => {
  const path = requestPath`/threads/${threadId}/runs/${runId}`
  return {
    run: path,
    attempts: `${path}/attempts`,
    events: `${path}/events?limit=${eventsPage}`,
    history: { path: requestPath`/threads/${threadId}/history`, body: { limit: historyLimit } },
  }
}

export const isOver = ({ status }: RunInfo): boolean => status !== "pending" && status !== "running"

export function useRun(place: RunPlace): RunHistory {
  const agent = useAgent()
  const { data } = useSuspenseQuery({
    queryKey: ["run", agent.url, place.runId],
    queryFn: () => readHistory(agent, place),
    refetchInterval: ({ state }) => (state.data && isOver(state.data.run) ? false : refreshMs),
  })
  return data
}

async function readHistory(agent: Agent, place: RunPlace): Promise<RunHistory> {
  const { run: runPath, attempts, history } = requestsOf(place)
  const read = async <Reply>(path: string, init?: RequestInit) => (await jsonOf(await agent.fetch(path, init))) as Reply
  // The run first: what is read after its end is complete.
  const run = await read<RunInfo>(runPath)
  const [times, states, events] = await Promise.all([
    read<Attempts>(attempts),
    read<StateInfo[]>(history.path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(history.body),
    }),
    readEvents(agent, place),
  ])
  return { run, attempts: times, states, events }
}

async function readEvents(agent: Agent, place: RunPlace): Promise<TimedEvent[]> {
  const events: TimedEvent[] = []
  // A page of large events is short; only the header says whether more follow.
  for (let after: string | null = "-1"; after !== null && events.length < maxEvents; ) {
    const reply: Response = await agent.fetch(`${requestsOf(place).events}&after=${after}`)
    events.push(...((await jsonOf(reply)) as TimedEvent[]))
    after = reply.headers.get("x-pagination-next")
  }
  return events
}

/** Why the run waits, while it does. */
export function useWait({ runId }: RunPlace, isWaiting: boolean): string | undefined {
  const agent = useAgent()
  const { data } = useQuery({
    queryKey: ["run-wait", agent.url, runId],
    queryFn: async () => {
      const runs = (await jsonOf(await agent.fetch("/queue?limit=1000"))) as {
        run_id: string
        wait: { message: string } | null
      }[]
      return runs.find(({ run_id }) => run_id === runId)?.wait?.message ?? null
    },
    enabled: isWaiting,
    refetchInterval: refreshMs,
  })
  return isWaiting ? (data ?? undefined) : undefined
}
