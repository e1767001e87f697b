/** The agent's assistants, and what is known of the graph of one. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../frame/api-error.js"
import { requestPath } from "../frame/request-path.js"
import type { DrawnGraph } from "../thread/graph-layout.js"
import type { InputSchema } from "../thread/input-kind.js"

const many = 200
// A graph changes with a revision only, which reloads the page's data anyway.
const unchangingMs = 60_000

export function useAssistants() {
  const { client, url } = useAgent()
  const { data, isPending, error } = useQuery({
    queryKey: ["assistants", url, "all"],
    queryFn: () => client.assistants.search({ limit: many, sortBy: "name", sortOrder: "asc" }),
    staleTime: unchangingMs,
  })
  return { assistants: data ?? [], isPending, error }
}

/** The graph with the graphs in its nodes, for drawing. */
export function useDrawnGraph(assistantId: string) {
  const { client, url } = useAgent()
  return useQuery({
    queryKey: ["graph", url, assistantId],
    queryFn: async () => (await client.assistants.getGraph(assistantId, { xray: true })) as DrawnGraph,
    staleTime: unchangingMs,
  })
}

export interface GraphSchemas {
  readonly input_schema?: InputSchema | null
  readonly state_schema?: InputSchema | null
}

export function useSchemas(assistantId: string) {
  const { fetch, url } = useAgent()
  return useQuery({
    queryKey: ["schemas", url, assistantId],
    queryFn: async () => (await jsonOf(await fetch(requestPath`/assistants/${assistantId}/schemas`))) as GraphSchemas,
    staleTime: unchangingMs,
    // The first run gives a thread another name of its assistant: what a person has begun to write must stay.
    placeholderData: keepPreviousData,
  })
}
