/** The operations of MCP: list assistants as tools, and run one (agent-server-api §10). */
import { withPlainNumbers } from "@superstep/toolkit/http/exact-number"
import { parseJson } from "@superstep/toolkit/http/json"
import type { AssistantRow } from "../assistants/assistant.js"
import { type AssistantGraphs, getSchemas } from "../assistants/graph-operations.js"
import { searchAssistants } from "../assistants/operations.js"
import { assistantSearch } from "../assistants/schema.js"
import type { Caller } from "../auth/caller.js"
import type { Runs } from "../runs/operations.js"
import type { PathOf } from "../runs/preparation.js"
import { runToEnd } from "../runs/run-result.js"
import { newRun } from "../runs/schema.js"
import { inputSchemaOf, pageOf, toolsByName } from "./tool.js"

export type McpParts = Runs &
  AssistantGraphs & {
    /** The request headers that the graph receives as `configurable`. None unless the project configures them. */
    readonly configurableHeaders?: ((headers: Headers) => Readonly<Record<string, string>>) | undefined
  }

// Postgres takes it as a limit, and no server has as many assistants.
const noLimit = 2_147_483_647

/**
 * All assistants that the caller may see, by tool name. All are read, because names are unique among all, not per page; in one statement, since
 * an assistant that is deleted between two pages would move another one out of the second.
 */
export async function findTools(parts: McpParts, caller: Caller): Promise<Map<string, AssistantRow>> {
  const oldestFirst = assistantSearch.parse({ sort_by: "created_at", sort_order: "asc" })
  const { rows } = await searchAssistants(parts, caller, { ...oldestFirst, limit: noLimit })
  return toolsByName(rows)
}

/** @returns undefined for an invalid cursor */
export async function listTools(parts: McpParts, caller: Caller, cursor: string | undefined) {
  const page = pageOf([...(await findTools(parts, caller))], cursor)
  if (!page) return undefined
  const loaded = new Set(parts.workers.report().graphs)
  const tools = page.page
    // A graph that did not load cannot be run.
    .filter(([, { graph_id }]) => loaded.has(graph_id))
    .map(async ([name, { assistant_id, description }]) => ({
      name,
      ...(description && { description }),
      inputSchema: inputSchemaOf(withPlainNumbers(await soonKnown(parts, getSchemas(parts, caller, assistant_id)))),
    }))
  return { tools: await Promise.all(tools), ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }) }
}

/** @returns undefined when the schema is not known soon, or its computation fails: the tool then accepts any object */
async function soonKnown({ log }: McpParts, schemas: ReturnType<typeof getSchemas>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const isLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), schemasMs)
  })
  const known = schemas.catch((err: unknown) => {
    log.warn({ err }, "the schema of a tool is unknown")
    return undefined
  })
  const soon = await Promise.race([known, isLate]).finally(() => clearTimeout(timer))
  return soon?.input_schema
}

// Clients of MCP give up after a minute. The schemas of many graphs may take longer; a later list has them.
const schemasMs = 5_000

export interface ToolCall {
  readonly assistantId: string
  readonly arguments: unknown
  readonly context: unknown
  /** Whether the run is cancelled when the client disconnects. */
  readonly cancels: boolean
  /** The project decides which of them the graph receives. */
  readonly headers: Headers
}

/**
 * Runs an assistant without a thread.
 * @param signal  aborted when the client disconnects
 * @throws        the errors of `createRun`
 */
export async function callTool(parts: McpParts, caller: Caller, call: ToolCall, signal: AbortSignal) {
  const body = newRun.parse({
    assistant_id: call.assistantId,
    input: call.arguments ?? {},
    context: call.context,
    on_disconnect: call.cancels ? "cancel" : "continue",
  })
  const pathOf: PathOf = (field, ...rest) => ["params", field === "input" ? "arguments" : field, ...rest]
  const request = { caller, threadId: undefined, body, headers: parts.configurableHeaders?.(call.headers), pathOf }
  const { result } = await runToEnd(parts, request, signal)
  const { __error__: error } = parseJson(result) as { __error__?: { error: string; message: string } }
  return error
    ? { content: [{ type: "text" as const, text: `${error.error}: ${error.message}` }], isError: true }
    : { content: [{ type: "text" as const, text: result }], isError: false }
}
