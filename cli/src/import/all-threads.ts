/** The ids of all threads of an agent server. */
import { type AgentApi, AgentRefused } from "./agent-api.js"
import { every, pageSize } from "./every.js"

/**
 * From the one that changed longest ago, so that the order of changes stays. A thread that changes meanwhile moves to the end, and the one at a
 * page's border before it: that one is found by its id, which does not change. A thread that is new may be left to the next import.
 * @returns  each id once
 */
export async function* threadIds(from: AgentApi): AsyncGenerator<string> {
  const read = (offset: number, round: number): Promise<{ thread_id: string }[]> =>
    from.send("POST", "/threads/search", {
      limit: pageSize,
      offset,
      sort_by: round === 0 ? "updated_at" : "thread_id",
      sort_order: "asc",
      // Without their values; former servers send these all the same.
      select: ["thread_id"],
    })
  for await (const { thread_id: id } of every(read, (thread) => thread.thread_id)) yield id
}

/** @returns  undefined for a server that cannot count them */
export async function countThreads(from: AgentApi): Promise<number | undefined> {
  try {
    const count: unknown = await from.send("POST", "/threads/count", {})
    return typeof count === "number" ? count : undefined
  } catch (error) {
    if (error instanceof AgentRefused) return undefined
    throw error
  }
}
