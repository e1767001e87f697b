/** The assistants of an agent, their versions and schemas, through the official client. */
import type { Assistant, AssistantVersion } from "@langchain/langgraph-sdk"
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { refreshMs } from "../requests/query-client.js"
import type { JsonSchema } from "../schema-form/fields.js"
import { readAssistants, readVersions } from "./read-assistants.js"

export function useAssistants(): readonly Assistant[] {
  const { client, url } = useAgent()
  const { data } = useSuspenseQuery({
    queryKey: ["assistants", url, "by name"],
    queryFn: ({ signal }) => readAssistants({ client }, signal),
    refetchInterval: refreshMs,
  })
  return data
}

export function useAssistantName(assistantId: string): string {
  return useAssistants().find(({ assistant_id }) => assistant_id === assistantId)?.name ?? assistantId
}

/** Newest first. */
export function useVersions(assistantId: string): readonly AssistantVersion[] {
  const { client, url } = useAgent()
  const { data } = useSuspenseQuery({
    queryKey: ["assistant-versions", url, assistantId],
    queryFn: ({ signal }) => readVersions({ client }, assistantId, signal),
    refetchInterval: refreshMs,
  })
  return data
}

/** The schema of the graph's context, if the graph has one that loads. */
export function useContextSchema(assistantId: string | undefined): JsonSchema | undefined {
  const { client, url } = useAgent()
  const { data } = useQuery({
    queryKey: ["assistant-schemas", url, assistantId],
    queryFn: () => client.assistants.getSchemas(assistantId ?? ""),
    enabled: assistantId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  const schema = data?.context_schema
  return schema && Object.keys(schema.properties ?? {}).length > 0 ? (schema as JsonSchema) : undefined
}

/** What a person may change; each change makes a new version. */
export interface AssistantFields {
  readonly name: string
  readonly description: string
  readonly context: unknown
  readonly config: unknown
  readonly metadata: unknown
}

export function useAssistantActions() {
  const { client, url } = useAgent()
  const queries = useQueryClient()
  const onSuccess = async () => {
    await queries.invalidateQueries({ queryKey: ["assistants", url] })
    await queries.invalidateQueries({ queryKey: ["assistant-versions", url] })
  }
  return {
    create: useMutation({
      mutationFn: ({ graphId, fields }: { graphId: string; fields: AssistantFields }) =>
        client.assistants.create({ graphId, ...(fields as object) } as Parameters<typeof client.assistants.create>[0]),
      onSuccess,
    }),
    update: useMutation({
      mutationFn: ({ assistantId, fields }: { assistantId: string; fields: AssistantFields }) =>
        client.assistants.update(assistantId, fields as Parameters<typeof client.assistants.update>[1]),
      onSuccess,
    }),
    setLatest: useMutation({
      mutationFn: ({ assistantId, version }: { assistantId: string; version: number }) =>
        client.assistants.setLatest(assistantId, version),
      onSuccess,
    }),
    remove: async (assistantId: string) => {
      await client.assistants.delete(assistantId)
      // Its versions are gone: the page still shows them, so they would be read once more.
      await queries.invalidateQueries({ queryKey: ["assistants", url] })
    },
  }
}
