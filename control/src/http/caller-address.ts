/** The origin of a request: the peer of its connection, or the address that trusted proxies report. */
import type { IncomingMessage } from "node:http"
import { type BlockList, isIP } from "node:net"
import { isTrusted, plainAddress } from "@superstep/toolkit/http/trusted-proxies"
import type { Context } from "hono"

/** @returns  undefined when there is no connection, as in a call within the process */
export function callerAddress(c: Context, proxies: BlockList): string | undefined {
  const peer = peerAddress(c)
  if (peer === undefined) return undefined
  const forwarded = (c.req.header("x-forwarded-for") ?? "").split(",").map((part) => plainAddress(part.trim()))
  return forwarded.reduceRight(
    // Each proxy adds the address it saw; this is believed as long as the proxy is one of ours.
    (address, before) => (isTrusted(proxies, address) && isIP(before) !== 0 ? before : address),
    peer,
  )
}

/** The peer of the connection itself. */
export function peerAddress(c: Context): string | undefined {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  const address = incoming?.socket.remoteAddress
  return address === undefined ? undefined : plainAddress(address)
}
