/** Access to a server: the unit's token, API keys, and loopback rules in development (decisions, agent server 10, 11). */

import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { isCredential } from "@superstep/protocol/http/own-headers"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Forbidden, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { isThisMachine } from "@superstep/toolkit/http/this-machine"
import type { Context, MiddlewareHandler } from "hono"

/** Rejects requests that come neither through the edge nor from the control plane (protocol/unit). */
export const requireUnitToken =
  (token: Secret): MiddlewareHandler =>
  async (c, next) => {
    const origin = c.get("origin")
    if (origin.from !== "outside" || !isCredential(origin.unitToken, token.reveal())) {
      throw new Unauthenticated("this agent accepts requests only through its deployment's URL")
    }
    c.set("isConsole", origin.isConsole)
    c.set("seen", origin.seen)
    await next()
  }

/** The client's address, taken from the connection, because a client can set any header. */
export function addressOf(c: Context): string {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  return incoming?.socket.remoteAddress ?? ""
}

/** Whether a request comes from this machine. */
export const isLoopbackRequest = (c: Context): boolean => /^(127\.|::1$|::ffff:127\.)/.test(addressOf(c))

/** Requires one of the operator's API keys, except for `/ok`. Each key is compared in full. */
export const requireApiKey = (keys: Secret): MiddlewareHandler => {
  const known = keys
    .reveal()
    .split(",")
    .map((key) => digest(key.trim()))
  return async (c, next) => {
    const given = digest(c.req.header("x-api-key") ?? "")
    const isKnown = known.reduce((found, key) => timingSafeEqual(key, given) || found, false)
    if (!isKnown && c.req.path !== "/ok")
      throw new Unauthenticated("an API key is required: send it in the header x-api-key")
    await next()
  }
}

// Digests have one length, so the time of a comparison reveals nothing about the keys.
const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** The name in a `Host` header, without its port. */
const hostName = (host: string): string => host.replace(/:\d+$/, "")

/**
 * Rejects requests for other host names. Otherwise a web page whose domain name resolves to this machine could read the
 * developer's agent (DNS rebinding).
 */
export const requireLoopbackHost: MiddlewareHandler = async (c, next) => {
  const host = hostName(c.req.header("host") ?? "")
  if (!isThisMachine(host)) {
    throw new Forbidden(
      `this development server accepts requests for localhost, not for "${host}": use superstep serve for other hosts`,
    )
  }
  await next()
}

const studioOrigin = "https://smith.langchain.com"

/** Whether a page of this origin may call a development server from a browser. */
function isDevOrigin(origin: string): boolean {
  if (origin === studioOrigin) return true
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  return url !== undefined && isThisMachine(url.hostname)
}

/** Which web pages may call this server from a browser. */
export interface OriginRule {
  readonly isDev: boolean
  /** `http.cors.allow_origins` of langgraph.json; `*` is all. */
  readonly allowed: readonly string[] | undefined
  /** `http.cors.allow_origin_regex`, which the whole origin must match; instead of the list. It never matches a long origin. */
  readonly pattern?: RegExp | undefined
}

// A scheme, a host name of 253 characters and a port. A project's pattern may take very long on more.
const longestMatched = 300

/** In development, local pages and Studio are always allowed. Otherwise all pages are, unless the project lists origins. */
export function mayCall({ isDev, allowed, pattern }: OriginRule, origin: string): boolean {
  if (allowed?.includes("*") || allowed?.includes(origin)) return true
  if (pattern && origin.length <= longestMatched && pattern.test(origin)) return true
  return isDev ? isDevOrigin(origin) : allowed === undefined && pattern === undefined
}

/**
 * Rejects requests of pages that are not allowed. Omitting the CORS headers is not enough: it keeps the page from reading
 * the reply, but a plain POST has already started a run.
 */
export const requireKnownOrigin =
  (rule: OriginRule): MiddlewareHandler =>
  async (c, next) => {
    const origin = c.req.header("origin")
    if (origin !== undefined && !mayCall(rule, origin)) {
      throw new Forbidden(
        `this development server rejects requests from pages of "${origin}": add it to http.cors.allow_origins in langgraph.json`,
      )
    }
    await next()
  }
