/** Which addresses webhooks may call (W4): none in the operator's networks, unless the operator allows it. Pure. */
import { isIP } from "node:net"
import { addressKind } from "@superstep/toolkit/webhooks/addresses"

export interface AddressRules {
  /** Whether this machine may be called: true while only this machine reaches the platform. */
  readonly allowsLoopback: boolean
  readonly allowsPrivate: boolean
}

const mostUrlChars = 2048

/** Why a webhook may not have this address, as far as its text shows; undefined when it may. */
export function urlProblem(rules: AddressRules, text: string): string | undefined {
  if (text.length > mostUrlChars) return `expected at most ${mostUrlChars} characters`
  // The parser would drop some of these characters, so a reader would see another address than the one that is called.
  if (/[^\x21-\x7e]/.test(text)) return "expected an address without spaces, control characters and unescaped Unicode"
  if (!URL.canParse(text)) return "expected an address such as https://example.com/hook"
  const url = new URL(text)
  if (url.protocol !== "https:" && url.protocol !== "http:") return "expected an http or https address"
  if (url.username !== "" || url.password !== "")
    return "expected an address without user and password: calls are signed instead"
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")
  if (isIP(host) !== 0) return addressProblem(rules, host)
  return /(^|\.)localhost$/.test(host) ? addressProblem(rules, "127.0.0.1") : undefined
}

/** Why an IP address may not be connected to; undefined when it may. */
export function addressProblem({ allowsLoopback, allowsPrivate }: AddressRules, address: string): string | undefined {
  const kind = addressKind(address)
  if (kind === "never") return `${address} is not an address that webhooks may call`
  if (kind === "loopback" && !allowsLoopback) {
    return `${address} is this machine, which may be called only while the platform listens on loopback only (SUPERSTEP_HOST) and has no public address (SUPERSTEP_PUBLIC_URL)`
  }
  if (kind === "private" && !allowsPrivate) {
    return `${address} is in a private network, which may not be called unless SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS is set`
  }
  return undefined
}
