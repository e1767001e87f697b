/** What an assistant is, and which one stands for a graph. Pure. */
import { v5 } from "uuid"

// The namespace of LangGraph's own servers, so that the assistant of a graph has the same id everywhere
// (agent-server-api §2.3: graph `agent` is fe096781-5601-53d2-b2f6-0d3403f7e9ca).
const graphNamespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8"

/** The id of the assistant that every graph has from the start. */
export const systemAssistantId = (graphId: string): string => v5(graphId, graphNamespace)

export interface Assistant {
  readonly assistantId: string
  readonly graphId: string
  readonly config: Config
  readonly context: unknown
  readonly metadata: Readonly<Record<string, unknown>>
}

/** A RunnableConfig as clients write it; other keys pass through. */
export interface Config {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly tags?: readonly string[] | undefined
  readonly recursion_limit?: number | undefined
}

/** The assistant of a graph as it is before anybody changed it. */
export const systemAssistant = (graphId: string): Assistant => ({
  assistantId: systemAssistantId(graphId),
  graphId,
  config: {},
  context: {},
  metadata: { created_by: "system" },
})
