/** What a request says about the page that sends it, as seen through trusted proxies. */
import type { IncomingMessage } from "node:http"
import type { BlockList } from "node:net"
import type { Context } from "hono"
import { isTrusted } from "../edge/config.js"
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
  const forwarded = (name: string) =>
    peer !== undefined && isTrusted(proxies, peer) ? c.req.header(name)?.split(",")[0]?.trim() : undefined
  const protocol = forwarded("x-forwarded-proto") ?? (isEncrypted(c) ? "https" : "http")
  return {
    method: c.req.method,
    host: forwarded("x-forwarded-host") ?? c.req.header("host") ?? new URL(c.req.url).host,
    origin,
    fetchSite: c.req.header("sec-fetch-site"),
    isSecure: protocol === "https" || origin?.startsWith("https:") === true,
  }
}

function isEncrypted(c: Context): boolean {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  return incoming !== undefined && "encrypted" in incoming.socket
}

/** Whether a browser asks for a page, as one does that opens or reloads an address of the console. */
export const asksForPage = (c: Context): boolean =>
  (c.req.method === "GET" || c.req.method === "HEAD") && /\btext\/html\b/i.test(c.req.header("accept") ?? "")
