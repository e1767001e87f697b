/** The paused threads of a deployment, by its public API, and which of them could not go on with other graphs. */
import { KnownError } from "@superstep/toolkit/errors/errors"

export interface PausedThread {
  readonly threadId: string
  readonly graphId: string
  /** The nodes in which it waits. */
  readonly next: readonly string[]
}

export interface PausedThreads {
  readonly threads: readonly PausedThread[]
  /** Whether these are all. */
  readonly isComplete: boolean
}

export class AgentRefused extends KnownError {
  readonly code = "agent_refused"
}

// As many as an agent server checks before it takes over (server/src/serving/orphans.ts).
const mostThreads = 200
const atOnce = 4

interface FoundThread {
  readonly thread_id: string
  readonly metadata: { readonly graph_id?: string } | null
}

/**
 * Reads the newest paused threads. Those without a next node are left out: they belong to an earlier revision, and finish there.
 * @param url  of the agent server
 */
export async function readPausedThreads(url: string, apiKey: string): Promise<PausedThreads> {
  const send = sender(url, apiKey)
  const found = await send<FoundThread[]>("/threads/search", {
    status: "interrupted",
    limit: mostThreads + 1,
    sort_by: "updated_at",
    sort_order: "desc",
    select: ["thread_id", "metadata"],
  })
  const waiting = (found ?? []).slice(0, mostThreads)
  const threads: PausedThread[] = []
  const read = async () => {
    for (let it = waiting.shift(); it !== undefined; it = waiting.shift()) {
      const state = await send<{ next?: string[] }>(`/threads/${it.thread_id}/state`)
      const next = state?.next ?? []
      if (next.length > 0) threads.push({ threadId: it.thread_id, graphId: it.metadata?.graph_id ?? "", next })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, read))
  return { threads, isComplete: (found ?? []).length <= mostThreads }
}

/** @returns  a function that asks the agent server; it returns undefined for 404: the thread was deleted meanwhile */
function sender(url: string, apiKey: string) {
  return async <T>(path: string, body?: object): Promise<T | undefined> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
    const headers = { "x-api-key": apiKey, "content-type": "application/json" }
    const response = await fetch(`${url}${path}`, { ...init, headers }).catch((error: Error) => {
      const { code = error.message } = (error.cause ?? {}) as { code?: string }
      throw new AgentRefused(`the agent at ${url} cannot be reached: ${code}`)
    })
    if (response.status === 404 && body === undefined) return undefined
    const text = await response.text()
    if (!response.ok) throw new AgentRefused(`the agent at ${url} answered ${response.status}: ${text.slice(0, 500)}`)
    return JSON.parse(text) as T
  }
}

export interface Orphan {
  readonly thread_id: string
  readonly reason: string
}

/**
 * Decides which threads could not go on: their graph is gone, or none of the nodes in which they wait exists. Pure.
 * @param graphs  ids of the graphs
 * @param nodes   the nodes of each graph; a graph whose nodes are unknown is left out
 */
export function orphansAmong(
  threads: readonly PausedThread[],
  { graphs, nodes }: { graphs: readonly string[]; nodes: Readonly<Record<string, readonly string[]>> },
): Orphan[] {
  return threads.flatMap(({ threadId: thread_id, graphId, next }) => {
    if (!graphs.includes(graphId)) return { thread_id, reason: `there is no graph ${graphId}` }
    const known = nodes[graphId]
    if (known === undefined || next.some((node) => known.includes(node))) return []
    return { thread_id, reason: `graph ${graphId} has no node ${next.join(", ")}` }
  })
}
