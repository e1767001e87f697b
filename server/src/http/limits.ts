/**
 * How much one server answers at a time, and to whom. What is over a limit gets 429 and is told when to come back; what is
 * about the server itself is always answered, so that an operator can look at one that is full.
 */
import type { ServerResponse } from "node:http"
import { TooManyRequests } from "@superstep/toolkit/errors/errors"
import type { Context, MiddlewareHandler } from "hono"
import { addressOf } from "./access.js"
import { callerOf } from "./caller-of.js"

/** Each 0: no limit. */
export interface Limits {
  readonly maxOpenRequests: number
  readonly maxOpenRequestsPerCaller: number
  readonly maxRequestsPerMinute: number
}

export interface LimitOptions extends Limits {
  /** Whether `X-Forwarded-For` is told by the edge, or could be told by anybody. */
  readonly isBehindEdge: boolean
  readonly now?: () => number
}

const minuteMs = 60_000

// Often enough for a client that waits, rare enough for a server that is full.
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
      throw new TooManyRequests(`more than ${maxRequestsPerMinute} requests in a minute: come back later`, waitMs)
    }
    minute.requestsOf.set(caller, requests + 1)
  }

  const begin = (caller: string): (() => void) => {
    const own = openOf.get(caller) ?? 0
    if (maxOpenRequests > 0 && open >= maxOpenRequests) {
      throw new TooManyRequests(`${maxOpenRequests} requests are open at this server: try again in a moment`, retryMs)
    }
    if (maxOpenRequestsPerCaller > 0 && own >= maxOpenRequestsPerCaller) {
      throw new TooManyRequests(`${own} requests of yours are open: wait for one to end, or close a stream`, retryMs)
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
    // A stream goes on after its handler.
    outgoing?.once("close", end)
    try {
      await next()
    } finally {
      if (!outgoing) end()
    }
  }
}

/** Who counts as one: a user, else whoever is at an address. */
function nameOf(c: Context, isBehindEdge: boolean): string {
  const { user } = callerOf(c)
  if (user) return `user ${user.identity}`
  // The edge puts the address that it sees behind those that it was told.
  const forwarded = isBehindEdge ? c.req.header("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined
  const origin = c.get("origin")
  return forwarded ?? (origin?.from === "app" ? origin.ticket.address : addressOf(c))
}
