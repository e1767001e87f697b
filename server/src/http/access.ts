/** Who may call: a unit's own credential, and in development only this machine (decisions, agent server 10, 11). */
import { timingSafeEqual } from "node:crypto"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Forbidden, Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { MiddlewareHandler } from "hono"
import { cors } from "hono/cors"

/** Refuses requests that do not come through the edge or from the control plane (protocol/unit). */
export const requireUnitToken =
  (token: Secret): MiddlewareHandler =>
  async (c, next) => {
    const expected = Buffer.from(token.reveal())
    const shown = Buffer.from(c.req.header("x-superstep-unit") ?? "")
    if (expected.length !== shown.length || !timingSafeEqual(expected, shown)) {
      throw new Unauthenticated("this agent answers only through its deployment's address")
    }
    await next()
  }

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
export function isDevOrigin(origin: string): boolean {
  if (origin === studioOrigin) return true
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  return url !== undefined && loopbackName.test(url.hostname)
}

// What the browser SDKs read of a reply (agent-server-api §1.5, §13.3).
const exposed = ["content-location", "location", "x-pagination-total", "x-pagination-next", "x-request-id"]

/** @param isDev  only known origins; else every origin, since every request carries its key */
export const crossOrigin = (isDev: boolean): MiddlewareHandler =>
  cors({
    origin: isDev ? (origin) => (isDevOrigin(origin) ? origin : null) : "*",
    allowMethods: ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"],
    exposeHeaders: exposed,
  })
