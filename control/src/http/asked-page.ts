/** What a request says about the page that sends it, as seen through trusted proxies. */
import type { IncomingMessage } from "node:http"
import type { BlockList } from "node:net"
import { isTrusted } from "@superstep/toolkit/http/trusted-proxies"
import type { Context } from "hono"
import { peerAddress } from "./caller-address.js"

export interface AskedPage {
  readonly method: string
  /** The host that the browser has asked for, with its port. */
  readonly host: string | undefined
  readonly origin: string | undefined
  /** `Sec-Fetch-Site`: which page sends the request, as the browser says. */
  readonly fetchSite: string | undefined
  /** The browser uses HTTPS, so a cookie may be limited to it. */
  readonly isSecure: boolean
}

export function askedPage(c: Context, proxies: BlockList): AskedPage {
  const origin = c.req.header("origin")
  const peer = peerAddress(c)
  const isProxy = peer !== undefined && isTrusted(proxies, peer)
  const forwarded = (name: string) => (isProxy ? lastOf(c.req.header(name)) : undefined)
  const protocol = forwarded("x-forwarded-proto") ?? (isEncrypted(c) ? "https" : "http")
  return {
    method: c.req.method,
    host: forwarded("x-forwarded-host") ?? c.req.header("host") ?? new URL(c.req.url).host,
    origin,
    fetchSite: c.req.header("sec-fetch-site"),
    isSecure: protocol === "https" || origin?.startsWith("https:") === true,
  }
}

/** Of several values the last is the proxy's own; those before it may be the caller's, as in `X-Forwarded-For` (`caller-address.ts`). */
const lastOf = (list: string | undefined): string | undefined => list?.split(",").at(-1)?.trim()

function isEncrypted(c: Context): boolean {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  return incoming !== undefined && "encrypted" in incoming.socket
}

/** Whether a browser asks for a page, as one does that opens or reloads an address of the console. */
export const asksForPage = (c: Context): boolean =>
  (c.req.method === "GET" || c.req.method === "HEAD") && /\btext\/html\b/i.test(c.req.header("accept") ?? "")
