/** Who may call: a unit's own credential, and in development only this machine (decisions, agent server 10, 11). */
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { isCredential } from "@superstep/protocol/http/own-headers"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Forbidden, Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Context, MiddlewareHandler } from "hono"

/** Refuses requests that do not come through the edge or from the control plane (protocol/unit). */
export const requireUnitToken =
  (token: Secret): MiddlewareHandler =>
  async (c, next) => {
    const origin = c.get("origin")
    if (origin.from !== "outside" || !isCredential(origin.unitToken, token.reveal())) {
      throw new Unauthenticated("this agent answers only through its deployment's address")
    }
    await next()
  }

/** Where a request comes from, by its connection: a header says what its sender likes. */
export function addressOf(c: Context): string {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  return incoming?.socket.remoteAddress ?? ""
}

/** Whether a request comes from this machine. */
export const isLoopbackRequest = (c: Context): boolean => /^(127\.|::1$|::ffff:127\.)/.test(addressOf(c))

/** Asks for one of the keys that the operator set, wherever a supervisor does not ask. Each is compared in full. */
export const requireApiKey = (keys: Secret): MiddlewareHandler => {
  const known = keys
    .reveal()
    .split(",")
    .map((key) => digest(key.trim()))
  return async (c, next) => {
    const shown = digest(c.req.header("x-api-key") ?? "")
    const isKnown = known.reduce((found, key) => timingSafeEqual(key, shown) || found, false)
    if (!isKnown && c.req.path !== "/ok") throw new Unauthenticated("an API key is needed: send it as x-api-key")
    await next()
  }
}

// Texts of one length, whatever was sent, so that the comparison tells nothing of the keys.
const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

const loopbackName = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i

/** The name in a `Host` header, without its port. */
const hostName = (host: string): string => host.replace(/:\d+$/, "")

/**
 * Refuses a request for another host name: a page on the web that points its own name at this machine could else read
 * what the developer's agent says.
 */
export const requireLoopbackHost: MiddlewareHandler = async (c, next) => {
  const host = hostName(c.req.header("host") ?? "")
  if (!loopbackName.test(host)) {
    throw new Forbidden(
      `this development server answers to localhost, not to "${host}": use superstep serve for others`,
    )
  }
  await next()
}

const studioOrigin = "https://smith.langchain.com"

/** Whether a page of this origin may call a development server from a browser. */
function isDevOrigin(origin: string): boolean {
  if (origin === studioOrigin) return true
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  return url !== undefined && loopbackName.test(url.hostname)
}

/** Which web pages may call this server from a browser. */
export interface OriginRule {
  readonly isDev: boolean
  /** `http.cors.allow_origins` of langgraph.json; `*` is all. */
  readonly allowed: readonly string[] | undefined
  /** `http.cors.allow_origin_regex`, which the whole origin must match; instead of the list. */
  readonly pattern?: RegExp | undefined
}

/** In development the usual ones may always; else every page may unless the project names some: each request has a key. */
export function mayCall({ isDev, allowed, pattern }: OriginRule, origin: string): boolean {
  if (allowed?.includes("*") || allowed?.includes(origin) || pattern?.test(origin)) return true
  return isDev ? isDevOrigin(origin) : allowed === undefined && pattern === undefined
}

/**
 * Refuses a request of a page that may not call. Leaving the CORS headers out is not enough: it keeps the page from
 * reading the reply, but a plain POST has executed a run by then.
 */
export const requireKnownOrigin =
  (rule: OriginRule): MiddlewareHandler =>
  async (c, next) => {
    const origin = c.req.header("origin")
    if (origin !== undefined && !mayCall(rule, origin)) {
      throw new Forbidden(
        `this development server does not answer pages of "${origin}": add it to http.cors.allow_origins in langgraph.json`,
      )
    }
    await next()
  }
