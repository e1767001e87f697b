/** Finds out who sent a request, by the project's auth module (agent-server-api §12.2). */
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Context } from "hono"
import { anyone, type Caller, type User } from "../auth/caller.js"
import { RuleCaller } from "../auth/rule-caller.js"
import type { Gate } from "../gate/gate.js"
import { isLoopbackRequest } from "./access.js"

/** What tells nothing of anybody's data: probes, the reference, and the assets of pages. */
const isOpen = (method: string, path: string): boolean =>
  /^\/(ok|info|docs|openapi\.json|metrics)?$/.test(path) ||
  path.startsWith("/internal/") ||
  ((method === "GET" || method === "HEAD") && /^\/ui(\/|$)/.test(path))

// The others are methods that no route has, and that a `Request` cannot be made with.
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** LangGraph Studio in a browser, whose requests no handler of the project's can know (protocol-v2 §2.5). */
const studioUser: User = {
  kind: "StudioUser",
  identity: "langgraph-studio-user",
  display_name: "langgraph-studio-user",
  is_authenticated: true,
  permissions: [],
}

/**
 * @returns  a function that throws `Denied` in the module's words, and `Unavailable` while the module is not up
 */
export const identifyBy =
  ({ gate, isDev }: { gate: Gate; isDev: boolean }) =>
  async (c: Context): Promise<Caller> => {
    const origin = c.get("origin")
    const { method, path } = c.req
    if (origin.from === "own code" || isOpen(method, path) || !gate.hasRules) return anyone
    if (origin.from === "app" && origin.ticket.caller) return origin.ticket.caller
    if (!methods.has(method)) throw new Unauthenticated(`who sent a ${method} cannot be found out`)
    const isLoopback = origin.from === "app" ? origin.ticket.isLoopback : isLoopbackRequest(c)
    if (isStudio(c) && isDev && isLoopback && gate.project?.disableStudioAuth === false)
      return new RuleCaller(studioUser, gate)
    return new RuleCaller(await gate.authenticate(headOf(c)), gate)
  }

/** The header is a claim that nobody checks, so it counts only where the caller is the developer (decisions 10). */
const isStudio = (c: Context): boolean => c.req.header("x-auth-scheme") === "langsmith"

const headOf = ({ req }: Context) => ({ method: req.method, url: req.url, headers: req.raw.headers })
