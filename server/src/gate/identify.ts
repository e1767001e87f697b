/** Identifies the caller of a request with the project's auth module (agent-server-api §12.2). */
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Context } from "hono"
import { anyone, type Caller, type SeenSender, seenAs, type User } from "../auth/caller.js"
import { RuleCaller } from "../auth/rule-caller.js"
import { isLoopbackRequest } from "../http/access.js"
import type { Gate } from "./gate.js"

/** Paths without user data: probes, the API reference, and the assets of pages. */
const isOpen = (method: string, path: string): boolean =>
  /^\/(ok|info|docs|openapi\.json|metrics)?$/.test(path) ||
  path.startsWith("/internal/") ||
  ((method === "GET" || method === "HEAD") && /^\/ui(\/|$)/.test(path))

// No route has any other method, and some cannot be used in a `Request`.
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** The user of LangGraph Studio and of our console. The project's handlers cannot authenticate its requests (protocol-v2 §2.5). */
const studioUser: User = {
  kind: "StudioUser",
  identity: "langgraph-studio-user",
  display_name: "langgraph-studio-user",
  is_authenticated: true,
  permissions: [],
}

/**
 * @returns  a function that throws `Denied` with the module's message, and `Unavailable` while the module is not loaded
 */
export const identifyBy = ({ gate, isDev }: { gate: Gate; isDev: boolean }) => {
  const identify = async (c: Context): Promise<Caller> => {
    const origin = c.get("origin")
    const { method, path } = c.req
    if (origin.from === "own code" || isOpen(method, path) || !gate.hasRules) return anyone
    if (origin.from === "app" && origin.ticket.caller) return origin.ticket.caller
    if (!methods.has(method)) throw new Unauthenticated(`requests with the method ${method} cannot be authenticated`)
    if (gate.project?.disableStudioAuth === false && (isConsole(c) || (isDev && isStudio(c))))
      return new RuleCaller(studioUser, gate)
    return new RuleCaller(await gate.authenticate(headOf(c)), gate)
  }
  return async (c: Context): Promise<Caller> => seenAs(await identify(c), seenIn(c))
}

/** Whom the edge has seen, also where the project's app has passed the request on. */
function seenIn(c: Context): SeenSender | undefined {
  const origin = c.get("origin")
  return origin.from === "app" ? origin.ticket.seen : c.get("seen")
}

/** A person who may run the agents of this workspace has opened it in the console (decision 63). */
function isConsole(c: Context): boolean {
  const origin = c.get("origin")
  return origin.from === "app" ? origin.ticket.isConsole : c.get("isConsole") === true
}

/** Any client can set this header, so it counts only where the caller is the developer (decisions 10). */
function isStudio(c: Context): boolean {
  const origin = c.get("origin")
  const isLoopback = origin.from === "app" ? origin.ticket.isLoopback : isLoopbackRequest(c)
  return isLoopback && c.req.header("x-auth-scheme") === "langsmith"
}

const headOf = ({ req }: Context) => ({ method: req.method, url: req.url, headers: req.raw.headers })
