/** Where a request came from: the other end of its connection, or what trusted proxies say of it. */
import type { IncomingMessage } from "node:http"
import { type BlockList, isIP } from "node:net"
import type { Context } from "hono"
import { isTrusted } from "../edge/config.js"
import { plainAddress } from "../edge/headers.js"

/** @returns undefined when there is no connection, as in a call within the process */
export function callerAddress(c: Context, proxies: BlockList): string | undefined {
  const peer = peerAddress(c)
  if (peer === undefined) return undefined
  const told = (c.req.header("x-forwarded-for") ?? "").split(",").map((part) => plainAddress(part.trim()))
  return told.reduceRight(
    // Each proxy adds whom it saw: its word counts as far as it is one of ours.
    (address, before) => (isTrusted(proxies, address) && isIP(before) !== 0 ? before : address),
    peer,
  )
}

/** The other end of the connection itself. */
export function peerAddress(c: Context): string | undefined {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  const address = incoming?.socket.remoteAddress
  return address === undefined ? undefined : plainAddress(address)
}
