/**
 * Limits on open requests and on the request rate. A request over a limit gets 429 with Retry-After. Requests about the
 * server itself are never limited, so that an operator can inspect an overloaded server.
 */
import type { ServerResponse } from "node:http"
import { TooManyRequests } from "@superstep/toolkit/errors/errors"
import { onceClosed } from "@superstep/toolkit/http/once-closed"
import type { Context, MiddlewareHandler } from "hono"
import { addressOf } from "./access.js"
import { callerOf } from "./caller-of.js"

/** 0 means no limit. */
export interface Limits {
  readonly maxOpenRequests: number
  readonly maxOpenRequestsPerCaller: number
  readonly maxRequestsPerMinute: number
}

export interface LimitOptions extends Limits {
  /** Whether the edge sets `X-Forwarded-For`; otherwise any client could set it. */
  readonly isBehindEdge: boolean
  readonly now?: () => number
}

const minuteMs = 60_000

// Short for a waiting client, and not too often for a full server.
const retryMs = 1000

const isAboutTheServer = (path: string): boolean => /^\/(ok|info|metrics)$|^\/internal\//.test(path)

export function limitRequests({ isBehindEdge, now = Date.now, ...limits }: LimitOptions): MiddlewareHandler {
  const { maxOpenRequests, maxOpenRequestsPerCaller, maxRequestsPerMinute } = limits
  const openOf = new Map<string, number>()
  let open = 0
  let minute = { startedAt: 0, requestsOf: new Map<string, number>() }

  const count = (caller: string): void => {
    if (now() - minute.startedAt >= minuteMs) minute = { startedAt: now(), requestsOf: new Map() }
    const requests = minute.requestsOf.get(caller) ?? 0
    if (requests >= maxRequestsPerMinute) {
      const waitMs = minute.startedAt + minuteMs - now()
      throw new TooManyRequests(`more than ${maxRequestsPerMinute} requests in a minute: retry later`, waitMs)
    }
    minute.requestsOf.set(caller, requests + 1)
  }

  const begin = (caller: string): (() => void) => {
    const own = openOf.get(caller) ?? 0
    if (maxOpenRequests > 0 && open >= maxOpenRequests) {
      throw new TooManyRequests(
        `this server has reached its limit of ${maxOpenRequests} open requests: retry in a moment`,
        retryMs,
      )
    }
    if (maxOpenRequestsPerCaller > 0 && own >= maxOpenRequestsPerCaller) {
      throw new TooManyRequests(
        `you have reached the limit of ${maxOpenRequestsPerCaller} open requests: wait for one to end, or close a stream`,
        retryMs,
      )
    }
    open += 1
    openOf.set(caller, own + 1)
    return () => {
      open -= 1
      const left = (openOf.get(caller) ?? 1) - 1
      if (left > 0) openOf.set(caller, left)
      else openOf.delete(caller)
    }
  }

  return async (c, next) => {
    if (isAboutTheServer(c.req.path)) return next()
    const caller = nameOf(c, isBehindEdge)
    if (maxRequestsPerMinute > 0) count(caller)
    const end = begin(caller)
    const { outgoing } = (c.env ?? {}) as { outgoing?: ServerResponse }
    // A stream continues after its handler has returned.
    if (outgoing) onceClosed(outgoing, end)
    try {
      await next()
    } finally {
      if (!outgoing) end()
    }
  }
}

/** The caller that a request counts for: the user, else the client's address. */
function nameOf(c: Context, isBehindEdge: boolean): string {
  const { user } = callerOf(c)
  if (user) return `user ${user.identity}`
  // The edge appends the client's address, so only the last entry can be trusted.
  const forwarded = isBehindEdge ? c.req.header("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined
  const origin = c.get("origin")
  return forwarded ?? (origin?.from === "app" ? origin.ticket.address : addressOf(c))
}
