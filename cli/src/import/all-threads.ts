/** The ids of all threads of an agent server. */
import { type AgentApi, AgentRefused } from "./agent-api.js"

const pageSize = 100

/**
 * From the one that changed longest ago, so that the order of changes stays. One that changes meanwhile is found later, or by the next import.
 * @returns  each id once
 */
export async function* threadIds(from: AgentApi): AsyncGenerator<string> {
  const seen = new Set<string>()
  for (let offset = 0; ; offset += pageSize) {
    // Without their values; former servers send these all the same.
    const page: { thread_id: string }[] = await from.send("POST", "/threads/search", {
      limit: pageSize,
      offset,
      sort_by: "updated_at",
      sort_order: "asc",
      select: ["thread_id"],
    })
    for (const { thread_id: id } of page) {
      if (!seen.has(id)) yield id
      seen.add(id)
    }
    if (page.length < pageSize) return
  }
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
