/** Reads the threads that wait for a person. */
import type { Agent } from "../agent/use-agent.js"
import { readToEnd } from "../requests/read-to-end.js"
import type { InterruptedThread } from "./waiting.js"

/** The search of threads that wait for a person: what the page reads first, as a request. */
export const interruptedSearch = {
  status: "interrupted",
  limit: 200,
  sort_by: "updated_at",
  // A new question comes last, so the list does not move under a pointer.
  sort_order: "asc",
  select: ["thread_id", "updated_at", "metadata", "interrupts"],
} as const

/** All of them: threads that stopped at a breakpoint ask nothing, and 200 old ones would hide every question. */
export function readInterrupted({ client }: Pick<Agent, "client">, signal: AbortSignal): Promise<InterruptedThread[]> {
  const { status, limit, sort_by: sortBy, sort_order: sortOrder, select } = interruptedSearch
  return readToEnd<InterruptedThread>({
    pageSize: limit,
    idOf: ({ thread_id }) => thread_id,
    read: async (offset) =>
      (await client.threads.search({
        status,
        limit,
        offset,
        sortBy,
        sortOrder,
        select: [...select],
        signal,
      })) as unknown as InterruptedThread[],
  })
}
