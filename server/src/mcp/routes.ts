/** MCP over HTTP without sessions: each POST creates its own MCP server (agent-server-api §10). */
import { NotFound } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import type { McpServerParts } from "./answer.js"

const tags = ["MCP"]

export function addMcpRoutes(api: Api, parts: McpServerParts): void {
  addRoute(api, {
    method: "post",
    path: "/mcp",
    summary: "Send a message of the Model Context Protocol",
    tags,
    lasts: "stream",
    responses: {
      200: {
        description: "The answer to a request; one that takes long is an event stream, if the client accepts that",
        schema: z.looseObject({ jsonrpc: z.literal("2.0") }),
      },
      202: { description: "A notification was accepted" },
      400: { description: "Not a JSON-RPC message, or headers that MCP does not allow" },
    },
    // Loaded on the first request: the SDK adds a tenth to a server's memory and start time, and few servers need it.
    handle: async ({ c }) => (await import("./answer.js")).answer(parts, c),
  })
  addRoute(api, {
    method: "delete",
    path: "/mcp",
    summary: "End a session (not supported: requests are stateless)",
    tags,
    responses: { 404: { description: "Sessions are not supported" } },
    handle: () => {
      throw new NotFound("this server has no MCP sessions: each request is independent")
    },
  })
}
