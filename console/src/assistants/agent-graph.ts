/** The agent's assistants, and what is known of the graph of one. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import { requestPath } from "../requests/request-path.js"
import { readAssistants } from "./read-assistants.js"

/** The reply of `GET /assistants/{id}/graph?xray=true`, as far as it is read here. */
export interface DrawnGraph {
  readonly nodes: readonly { readonly id: string | number; readonly data?: unknown }[]
  readonly edges: readonly {
    readonly source: string | number
    readonly target: string | number
    readonly conditional?: boolean | undefined
    readonly data?: unknown
  }[]
}

/** A JSON schema, as far as it is read here. */
export interface InputSchema {
  readonly properties?: Readonly<Record<string, unknown>> | undefined
  readonly required?: readonly string[] | undefined
}

// A graph changes with a revision only, which reloads the page's data anyway.
const unchangingMs = 60_000

export function useAssistants() {
  const { client, url } = useAgent()
  const { data, isPending, error } = useQuery({
    queryKey: ["assistants", url, "all"],
    queryFn: ({ signal }) => readAssistants({ client }, signal),
    staleTime: unchangingMs,
  })
  return { assistants: data ?? [], isPending, error }
}

/** The graphs of the assistants, for a choice; `chosen` is among them. */
export function useGraphs(chosen: string | undefined): string[] {
  const { assistants } = useAssistants()
  return [...new Set([...assistants.map(({ graph_id }) => graph_id), ...(chosen === undefined ? [] : [chosen])])]
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
  readonly context_schema?: InputSchema | null
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
