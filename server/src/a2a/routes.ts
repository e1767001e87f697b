/** A2A over HTTP: agent cards and JSON-RPC (agent-server-api §11). */

import { InvalidInput, KnownError, NotFound, Refused } from "@superstep/toolkit/errors/errors"
import { decodeBody, parseJsonBody } from "@superstep/toolkit/http/body"
import type { Reply } from "@superstep/toolkit/http/errors"
import { ExactNumber } from "@superstep/toolkit/http/exact-number"
import { jsonResponse, toJsonText } from "@superstep/toolkit/http/json"
import { longAnswer, longEventStream, longJson } from "@superstep/toolkit/http/long-answer"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import { getAssistant } from "../assistants/operations.js"
import { callerOf } from "../http/caller-of.js"
import { agentCard } from "./card.js"
import type { A2aParts, Asking } from "./operations.js"
import { answerCall, isStreaming, type RpcCall, streamCall } from "./rpc.js"
import { codes, RpcError } from "./wire.js"

const tags = ["A2A"]
const params = z.object({ assistant_id: z.string().min(1) })
const card = z.looseObject({ name: z.string() }).meta({ id: "AgentCard" })
const notFound = { 404: { description: "No such assistant" } }

/** @param prefixOf  the path prefix under which the client reaches this server */
export function addA2aRoutes(api: Api, parts: A2aParts, prefixOf: (c: Context) => string): void {
  const urlOf = (c: Context, assistantId: string) => `${originOf(c)}${prefixOf(c)}/a2a/${assistantId}`
  const cardOf = async (c: Context, name: string) => {
    const assistant = await getAssistant(parts, callerOf(c), name)
    return jsonResponse(agentCard(assistant, urlOf(c, assistant.assistant_id)))
  }
  addRoute(api, {
    method: "get",
    path: "/a2a/{assistant_id}/.well-known/agent-card.json",
    summary: "Get an assistant's agent card",
    tags,
    params,
    responses: { 200: { description: "The card", schema: card }, ...notFound },
    handle: ({ c, params: { assistant_id } }) => cardOf(c, assistant_id),
  })
  addRoute(api, {
    method: "get",
    path: "/.well-known/agent-card.json",
    summary: "Get the agent card of an assistant named in the query",
    tags,
    query: params,
    responses: { 200: { description: "The card", schema: card }, ...notFound },
    handle: ({ c, query: { assistant_id } }) => cardOf(c, assistant_id),
  })
  addRoute(api, {
    method: "post",
    path: "/a2a/{assistant_id}",
    summary: "Send a message of the Agent2Agent protocol",
    tags,
    lasts: "stream",
    params,
    responses: {
      200: {
        description: "The answer, or a stream of answers",
        schema: z.looseObject({ jsonrpc: z.literal("2.0") }),
      },
      400: { description: "Not a JSON-RPC request, or an Accept header that excludes the method's content type" },
      ...notFound,
    },
    handle: async ({ c, params: { assistant_id } }) => {
      const caller = callerOf(c)
      const assistant = await getAssistant(parts, caller, assistant_id)
      return answer(parts, { caller, assistant, headers: c.req.raw.headers }, c, urlOf(c, assistant.assistant_id))
    },
  })
}

/** The scheme and host of the client's request. Behind a proxy the scheme is in `x-forwarded-proto`. */
function originOf(c: Context): string {
  const { protocol, host } = new URL(c.req.url)
  const forwarded = /^https?$/.exec(c.req.header("x-forwarded-proto") ?? "")?.[0]
  return `${forwarded === undefined ? protocol : `${forwarded}:`}//${host}`
}

/** JSON-RPC sends an id back as it came. */
const exactNumber = z.instanceof(ExactNumber)

const request = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null(), exactNumber]).optional(),
  method: z.string(),
  params: z.unknown(),
})

async function answer(parts: A2aParts, asking: Asking, c: Context, url: string): Promise<Response> {
  const body = await bodyOf(c)
  const parsed = request.safeParse(body)
  if (!parsed.success) {
    const why = body instanceof InvalidInput ? `: ${body.message}` : ""
    return failure(null, codes.invalidRequest, `expected a JSON-RPC 2.0 request${why}`, 400)
  }
  const { id = null, method } = parsed.data
  requireAccept(c, isStreaming(method) ? "text/event-stream" : "application/json")
  const call: RpcCall = { method, params: parsed.data.params, url, signal: c.req.raw.signal }
  const work = async () => {
    try {
      if (isStreaming(method)) {
        return longEventStream(c, eventsOf(parts, id, await streamCall(parts, asking, call)))
      }
      return jsonResponse({ jsonrpc: "2.0", id, result: await answerCall(parts, asking, call) })
    } catch (error) {
      return errorResponse(parts, id, error)
    }
  }
  if (isStreaming(method)) return work()
  const error = ({ body }: Reply) => failureOf(id, codes.internal, String(body.detail))
  return longAnswer(c, work, { ...longJson, error, isErrorSeen: true })
}

/** @returns the error for a body that cannot be read */
async function bodyOf(c: Context): Promise<unknown> {
  try {
    return parseJsonBody(decodeBody(await c.req.arrayBuffer(), c.req.header("content-encoding")))
  } catch (error) {
    if (error instanceof InvalidInput) return error
    throw error
  }
}

function requireAccept(c: Context, type: string): void {
  // A client that sends no such header accepts everything (RFC 9110, 12.5.1).
  const accept = c.req.header("accept") ?? "*/*"
  if (accept.includes(type) || accept.includes("*/*")) return
  throw new Refused(`this method answers with ${type}: add it to the Accept header`, "not_acceptable")
}

type Id = string | number | ExactNumber | null

const failureOf = (id: Id, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } })
const failure = (id: Id, code: number, message: string, status: number): Response =>
  jsonResponse(failureOf(id, code, message), status)

/** A2A errors are JSON-RPC errors with status 200. Other known errors become HTTP errors; a bug shows no details. */
function errorResponse({ log }: A2aParts, id: Id, error: unknown): Response {
  if (error instanceof RpcError) return failure(id, error.rpcCode, error.message, 200)
  if (error instanceof NotFound) return failure(id, codes.invalidParams, error.message, 200)
  if (error instanceof KnownError) throw error
  log.error({ err: error }, "an A2A request failed")
  return failure(id, codes.internal, "internal error", 200)
}

async function* eventsOf(parts: A2aParts, id: Id, results: AsyncIterable<unknown>): AsyncGenerator<string> {
  const frame = (body: object) => `data: ${toJsonText(body)}\n\n`
  try {
    for await (const result of results) yield frame({ jsonrpc: "2.0", id, result })
  } catch (error) {
    parts.log.warn({ err: error }, "an A2A stream failed")
    yield frame(failureOf(id, codes.internal, "the stream failed: get the task by its id"))
  }
}
