/**
 * MCP over HTTP without sessions: each POST is answered by a server of its own (agent-server-api §10). The protocol is the
 * official SDK's; what it would tell a client of an error of ours goes through `told`.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js"
import { InvalidInput, KnownError, NotFound } from "@superstep/toolkit/errors/errors"
import { decodeBody, parseJsonBody } from "@superstep/toolkit/http/body"
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import type { Caller } from "../auth/caller.js"
import { callerOf } from "../http/caller-of.js"
import { callTool, findTools, listTools, type McpParts } from "./operations.js"

const tags = ["MCP"]

export function addMcpRoutes(api: Api, parts: McpParts & { readonly version: string }): void {
  addRoute(
    api,
    {
      method: "post",
      path: "/mcp",
      summary: "Send a message of the Model Context Protocol",
      tags,
      responses: {
        200: { description: "The answer to a request", schema: z.looseObject({ jsonrpc: z.literal("2.0") }) },
        202: { description: "A notification was taken" },
        400: { description: "No message, or headers that MCP does not allow" },
      },
    },
    ({ c }) => answer(parts, c),
  )
  addRoute(
    api,
    {
      method: "delete",
      path: "/mcp",
      summary: "End a session, of which there are none",
      tags,
      responses: { 404: { description: "There are no sessions" } },
    },
    () => {
      throw new NotFound("this server has no MCP sessions: each request stands for itself")
    },
  )
}

async function answer(parts: McpParts & { readonly version: string }, c: Context): Promise<Response> {
  const accept = c.req.header("accept") ?? ""
  if (!["application/json", "text/event-stream"].every((type) => accept.includes(type))) {
    return refusal(ErrorCode.InvalidRequest, "Accept must name both application/json and text/event-stream")
  }
  const bytes = await c.req.arrayBuffer()
  let message: unknown
  try {
    message = parseJsonBody(decodeBody(bytes))
  } catch (error) {
    if (error instanceof InvalidInput) return refusal(ErrorCode.ParseError, error.message)
    throw error
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  const server = serverFor(parts, callerOf(c), { message, headers: c.req.raw.headers, signal: c.req.raw.signal })
  await server.connect(transport)
  try {
    return await transport.handleRequest(c.req.raw, { parsedBody: message })
  } finally {
    await server.close()
  }
}

const refusal = (code: ErrorCode, message: string): Response =>
  jsonResponse({ jsonrpc: "2.0", id: null, error: { code, message } }, 400)

interface Asked {
  /** The whole message: the SDK leaves fields out that it does not know, such as `context`. */
  readonly message: unknown
  readonly headers: Headers
  readonly signal: AbortSignal
}

function serverFor(
  parts: McpParts & { readonly version: string },
  caller: Caller,
  { message, headers, signal }: Asked,
): Server {
  const server = new Server({ name: "superstep", version: parts.version }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    told(parts, async () => {
      const listed = await listTools(parts, caller, params?.cursor)
      if (!listed) throw new McpError(ErrorCode.InvalidParams, `there is no page "${params?.cursor}"`)
      return listed
    }),
  )
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    told(parts, async () => {
      const assistant = (await findTools(parts, caller)).get(params.name)
      if (!assistant) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
      const call = {
        assistantId: assistant.assistant_id,
        arguments: params.arguments,
        context: contextIn(message),
        headers,
      }
      return callTool(parts, caller, call, signal)
    }),
  )
  return server
}

const contextIn = (message: unknown): unknown =>
  z.object({ params: z.object({ context: z.record(z.string(), z.unknown()) }) }).safeParse(message).data?.params.context

/** What a client may know of an error: ours say it, of a bug only that there was one. */
async function told<T>({ log }: McpParts, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof McpError) throw error
    if (error instanceof KnownError) throw new McpError(ErrorCode.InternalError, error.message)
    log.error({ err: error }, "an MCP request failed")
    throw new McpError(ErrorCode.InternalError, "internal error")
  }
}
