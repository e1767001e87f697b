/** Reads all assistants of an agent, or all versions of one. */
import type { Assistant, AssistantVersion } from "@langchain/langgraph-sdk"
import type { Agent } from "../agent/use-agent.js"
import { readToEnd } from "../requests/read-to-end.js"

type Reader = Pick<Agent, "client">

/** The first page, as a request. */
export const assistantSearch = { limit: 1000, offset: 0, sort_by: "name", sort_order: "asc" } as const
export const versionSearch = { limit: 100, offset: 0 } as const

/** By name. */
export function readAssistants({ client }: Reader, signal: AbortSignal): Promise<Assistant[]> {
  const { limit, sort_by: sortBy, sort_order: sortOrder } = assistantSearch
  return readToEnd({
    pageSize: limit,
    idOf: ({ assistant_id }) => assistant_id,
    read: (offset) => client.assistants.search({ limit, offset, sortBy, sortOrder, signal }),
  })
}

/** Newest first. */
export function readVersions(
  { client }: Reader,
  assistantId: string,
  signal: AbortSignal,
): Promise<AssistantVersion[]> {
  const { limit } = versionSearch
  return readToEnd({
    pageSize: limit,
    idOf: ({ version }) => String(version),
    read: (offset) => client.assistants.getVersions(assistantId, { limit, offset, signal }),
  })
}
