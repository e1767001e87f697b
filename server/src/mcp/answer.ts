/**
 * Answers one MCP message. The official SDK implements the protocol; `asMcpErrors` translates our errors.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js"
import { InvalidInput, KnownError } from "@superstep/toolkit/errors/errors"
import { decodeBody, parseJsonBody } from "@superstep/toolkit/http/body"
import { withPlainNumbers } from "@superstep/toolkit/http/exact-number"
import { jsonResponse, toJsonText } from "@superstep/toolkit/http/json"
import { heartbeat, type LongForm, longAnswer, longJson } from "@superstep/toolkit/http/long-answer"
import type { Context } from "hono"
import { z } from "zod"
import type { Caller } from "../auth/caller.js"
import { callerOf } from "../http/caller-of.js"
import { jsonObject } from "../http/parameters.js"
import { callTool, findTools, listTools, type McpParts } from "./operations.js"

export type McpServerParts = McpParts & { readonly version: string }

/**
 * An answer that is ready soon is JSON. One that takes long is an event stream, with progress when the client asked for it; for a
 * client that accepts only JSON it is JSON with white space before it.
 * @returns the SDK's response; 400 with a JSON-RPC error when the body is not JSON or the Accept header is wrong
 */
export async function answer(parts: McpServerParts, c: Context): Promise<Response> {
  // A client that sends no such header accepts everything (RFC 9110, 12.5.1), and may know nothing of event streams: it gets JSON.
  const accept = c.req.header("accept") ?? "application/json"
  if (!accept.includes("application/json")) {
    return refusal(ErrorCode.InvalidRequest, "Accept must name application/json, and should name text/event-stream")
  }
  const bytes = await c.req.arrayBuffer()
  let message: unknown
  try {
    message = parseJsonBody(decodeBody(bytes, c.req.header("content-encoding")))
  } catch (error) {
    if (error instanceof InvalidInput) return refusal(ErrorCode.ParseError, error.message)
    throw error
  }
  const { headers, signal } = c.req.raw
  const server = serverFor(parts, callerOf(c), { message, headers, signal })
  // The SDK prints parts of the message with its own printer; what goes to the graph is taken from the exact one.
  const plain = withPlainNumbers(message)
  const work = () => answerWith(server, c, plain)
  return longAnswer(c, work, accept.includes("text/event-stream") ? eventsFor(plain) : jsonFor(plain))
}

async function answerWith(server: Server, c: Context, message: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  const headers = new Headers(c.req.raw.headers)
  // The SDK refuses clients that accept only one of both. Its own answer is always JSON.
  headers.set("accept", "application/json, text/event-stream")
  try {
    const request = new Request(c.req.url, { method: "POST", headers })
    return await transport.handleRequest(request, { parsedBody: message })
  } finally {
    await server.close()
  }
}

const request = z
  .object({
    id: z.union([z.string(), z.number()]).nullable().catch(null),
    params: z
      .object({
        _meta: z.object({ progressToken: z.union([z.string(), z.number()]).optional().catch(undefined) }).catch({}),
      })
      .catch({ _meta: {} }),
  })
  .catch({ id: null, params: { _meta: {} } })

const jsonFor = (message: unknown): LongForm => ({
  ...longJson,
  error: ({ body: { detail } }) => ({
    jsonrpc: "2.0",
    id: request.parse(message).id,
    error: { code: ErrorCode.InternalError, message: String(detail) },
  }),
  isErrorSeen: true,
})

/** An event stream with one message. During silence it has progress notifications, which keep clients from giving up. */
function eventsFor(message: unknown): LongForm {
  const frame = (json: string) => `event: message\ndata: ${json}\n\n`
  const { progressToken } = request.parse(message).params._meta
  const progress = (n: number) => ({
    jsonrpc: "2.0",
    method: "notifications/progress",
    // How much there is to do is unknown: the number only grows.
    params: { progressToken, progress: n + 1, message: "still running" },
  })
  return {
    ...jsonFor(message),
    type: "text/event-stream",
    filler: (n) => (progressToken === undefined ? heartbeat : frame(toJsonText(progress(n)))),
    frame,
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
        arguments: argumentsIn(message),
        context: contextIn(message),
        cancels: isCancelledByLeaving(message),
        headers,
      }
      return callTool(parts, caller, call, signal)
    }),
  )
  return server
}

const argumentsIn = (message: unknown): unknown =>
  z.object({ params: z.object({ arguments: z.unknown() }) }).safeParse(message).data?.params.arguments

const contextIn = (message: unknown): unknown =>
  z.object({ params: z.object({ context: jsonObject }) }).safeParse(message).data?.params.context

/**
 * MCP says that a lost connection is no cancellation, so a client asks for that: `params._meta["superstep/on_disconnect"]` is `cancel`.
 * `notifications/cancelled` names only the id of a request, which is unique only in a session, and this server has none.
 */
const isCancelledByLeaving = (message: unknown): boolean =>
  z
    .object({ params: z.object({ _meta: z.object({ "superstep/on_disconnect": z.literal("cancel") }) }) })
    .safeParse(message).success

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
