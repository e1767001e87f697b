/**
 * Where a request comes from. The listener finds that out before the app sees the request, and removes all headers that only
 * our own processes may send. A request never gets rights because a header is missing.
 */
import type { IncomingMessage } from "node:http"
import { takeOwnHeaders, unitHeader } from "@superstep/protocol/http/own-headers"
import { Forbidden } from "@superstep/toolkit/errors/errors"
import type { Context, MiddlewareHandler } from "hono"
import type { Caller } from "../auth/caller.js"

/** What is known of a request that is with the app. */
export interface Ticket {
  /** Undefined where it is found out when the app has passed the request on. */
  readonly caller: Caller | undefined
  /** Whether it came from this machine, and the address that it came from. */
  readonly isLoopback: boolean
  readonly address: string
  /** It is the server's own. */
  readonly isOwn: boolean
  /** It is for a route of the app's own, and for none of the server's. */
  readonly onlyApp: boolean
}

export type Origin =
  /** The world. @property unitToken  what it shows as the edge's credential */
  | { readonly from: "outside"; readonly unitToken: string | undefined }
  /** User code of this project, or the server itself where it calls a route of the app. */
  | { readonly from: "own code"; readonly onlyApp: boolean }
  /** The app, which passes on what it got from the server. */
  | { readonly from: "app"; readonly ticket: Ticket }
  /** A caller at the server's own socket without a credential, or with an expired ticket. */
  | { readonly from: "nobody"; readonly problem: string }

declare module "hono" {
  interface ContextVariableMap {
    origin: Origin
  }
}

/** What a listener tells of a request, where no client can. */
export interface FromListener {
  readonly incoming: IncomingMessage
  readonly origin?: Origin
}

/** The origin of a request that came to the server's public address. */
export const fromWorld = (incoming: IncomingMessage): Origin => ({
  from: "outside",
  unitToken: takeOwnHeaders(incoming).get(unitHeader),
})

/** Tells where each request comes from. @throws Forbidden  it may not come from there */
export const tellOrigin: MiddlewareHandler = async (c, next) => {
  const { origin } = c.env as FromListener
  if (origin === undefined) throw new Error("a listener did not tell where a request comes from")
  c.set("origin", origin)
  if (origin.from === "nobody") throw new Forbidden(origin.problem)
  await next()
}

/** What only the world's requests must pass: the others have passed it, or are the server's own. */
export const fromOutside =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    c.get("origin").from === "outside" ? middleware(c, next) : next()

/** What counts for all but the server's own requests, once each. */
export const notOfOwnCode =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    c.get("origin").from === "own code" || ownsTicket(c) ? next() : middleware(c, next)

/** Whether the server's own request came back from the app. */
function ownsTicket(c: Context): boolean {
  const origin = c.get("origin")
  return origin.from === "app" && origin.ticket.isOwn
}
