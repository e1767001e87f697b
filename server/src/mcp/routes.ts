/** MCP over HTTP without sessions: each POST is answered by a server of its own (agent-server-api §10). */
import { NotFound } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import type { McpServerParts } from "./answer.js"

const tags = ["MCP"]

export function addMcpRoutes(api: Api, parts: McpServerParts): void {
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
    // The SDK is a tenth of a server's memory and of its start, and most servers are never asked.
    async ({ c }) => (await import("./answer.js")).answer(parts, c),
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
