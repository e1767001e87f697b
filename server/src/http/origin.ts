/**
 * Where a request comes from. The listener determines this before the app sees the request, and removes all headers that only
 * our own processes may send. A missing header never gives a request rights.
 */
import type { IncomingMessage } from "node:http"
import {
  consoleHeader,
  noApprovalUnitHeader,
  personHeader,
  takeOwnHeaders,
  unitHeader,
} from "@superstep/protocol/http/own-headers"
import { personIn } from "@superstep/protocol/http/person"
import { Forbidden } from "@superstep/toolkit/errors/errors"
import type { Context, MiddlewareHandler } from "hono"
import type { Caller, SeenSender } from "../auth/caller.js"
import type { Upgrade } from "./upgrade.js"

/** What the server knows about a request that it has passed to the app. */
export interface Ticket {
  /** Undefined when the caller is identified only after the app has passed the request on. */
  readonly caller: Caller | undefined
  /** Whether the request came from this machine, and the address it came from. */
  readonly isLoopback: boolean
  readonly address: string
  /** Whether it came from the console, through the edge, and from whom. */
  readonly isConsole: boolean
  readonly seen: SeenSender | undefined
  /** Whether the request was sent by user code of this project or by the server itself. */
  readonly isOwn: boolean
  /** Whether the request may reach only routes of the app, and none of the server. */
  readonly onlyApp: boolean
  /** Set when the client asks for a WebSocket: a route of the server accepts it when the app has passed the request on. */
  readonly handshake?: Pick<FromListener, "upgrade" | "outgoing">
}

export type Origin =
  /**
   * The server's public address.
   * @property unitToken  the edge's credential, if the request contains one
   * @property isConsole  the request says that the edge has seen a token of the console: true only if the credential is right
   * @property seen       whose token that is, and whether they may approve: as true
   */
  | {
      readonly from: "outside"
      readonly unitToken: string | undefined
      readonly isConsole: boolean
      readonly seen: SeenSender | undefined
    }
  /** User code of this project, or the server itself when it calls a route of the app. */
  | { readonly from: "own code"; readonly onlyApp: boolean }
  /** The app, which passes on a request that it got from the server. */
  | { readonly from: "app"; readonly ticket: Ticket }
  /** A caller at the server's own socket without a credential, or with an expired ticket. */
  | { readonly from: "unknown"; readonly problem: string }

declare module "hono" {
  interface ContextVariableMap {
    origin: Origin
    /** The edge has seen a token of the console. Set only where the edge's credential was checked. */
    isConsole: boolean
    /** Whose token it was. Set like `isConsole`. */
    seen: SeenSender | undefined
  }
}

/** What a listener adds to a request, in a place that clients cannot write to. */
export interface FromListener {
  readonly incoming: IncomingMessage
  readonly origin?: Origin
  /** The reply, or the connection if the client asks for a WebSocket. */
  readonly outgoing?: unknown
  /** Set if the client asks for a WebSocket. */
  readonly upgrade?: Upgrade
}

/** The origin of a request that came to the server's public address. */
export function outsideOrigin(incoming: IncomingMessage): Origin {
  const own = takeOwnHeaders(incoming)
  const full = own.get(unitHeader)
  const whose = own.get(personHeader)
  const person = whose === undefined ? undefined : personIn(whose)
  // The credential itself says the right, so that no server of a release before it takes such a request.
  const mayApprove = full !== undefined
  return {
    from: "outside",
    unitToken: full ?? own.get(noApprovalUnitHeader),
    isConsole: own.get(consoleHeader) === "1",
    seen: person || !mayApprove ? { person, mayApprove } : undefined,
  }
}

/** Sets the origin of each request. @throws Forbidden  the request has no valid ticket or credential */
export const setOrigin: MiddlewareHandler = async (c, next) => {
  const { origin } = c.env as FromListener
  if (origin === undefined) throw new Error("a listener did not tell where a request comes from")
  c.set("origin", origin)
  if (origin.from === "unknown") throw new Forbidden(origin.problem)
  await next()
}

/** Applies a middleware only to requests from outside: the others have already passed it, or come from the server's own code. */
export const fromOutside =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    c.get("origin").from === "outside" ? middleware(c, next) : next()

/** Applies a middleware to all requests except those of the server's own code. */
export const exceptOwnCode =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    c.get("origin").from === "own code" || ownsTicket(c) ? next() : middleware(c, next)

/** Whether the app passed on a request of the server's own code. */
function ownsTicket(c: Context): boolean {
  const origin = c.get("origin")
  return origin.from === "app" && origin.ticket.isOwn
}
