/**
 * Answers one MCP message. The official SDK implements the protocol; `asMcpErrors` translates our errors.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js"
import { InvalidInput, KnownError } from "@superstep/toolkit/errors/errors"
import { decodeBody, parseJsonBody } from "@superstep/toolkit/http/body"
import { jsonResponse } from "@superstep/toolkit/http/json"
import type { Context } from "hono"
import { z } from "zod"
import type { Caller } from "../auth/caller.js"
import { callerOf } from "../http/caller-of.js"
import { callTool, findTools, listTools, type McpParts } from "./operations.js"

export type McpServerParts = McpParts & { readonly version: string }

/** @returns the SDK's response; 400 with a JSON-RPC error when the body is not JSON or the Accept header is wrong */
export async function answer(parts: McpServerParts, c: Context): Promise<Response> {
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

interface McpRequest {
  /** The complete message: the SDK drops fields that it does not know, such as `context`. */
  readonly message: unknown
  readonly headers: Headers
  readonly signal: AbortSignal
}

function serverFor(parts: McpServerParts, caller: Caller, { message, headers, signal }: McpRequest): Server {
  const server = new Server({ name: "superstep", version: parts.version }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    asMcpErrors(parts, async () => {
      const listed = await listTools(parts, caller, params?.cursor)
      if (!listed)
        throw new McpError(
          ErrorCode.InvalidParams,
          `unknown cursor "${params?.cursor}": list the tools again without a cursor`,
        )
      return listed
    }),
  )
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    asMcpErrors(parts, async () => {
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

/** Translates errors for the client: known errors keep their message, a bug shows no details. */
async function asMcpErrors<T>({ log }: McpParts, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof McpError) throw error
    if (error instanceof KnownError) throw new McpError(ErrorCode.InternalError, error.message)
    log.error({ err: error }, "an MCP request failed")
    throw new McpError(ErrorCode.InternalError, "internal error")
  }
}
