/** Which addresses webhooks may go to: what `webhooks.url` of langgraph.json says, and what nobody may (W4). Pure. */
import { isIP } from "node:net"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { type AddressKind, addressKind } from "@superstep/toolkit/webhooks/addresses"

export interface UrlRules {
  /** `http.disable_webhooks`: runs are created as if they had none. */
  readonly isDisabled: boolean
  /** Hosts, or `*.example.com` for all below; undefined: every host. */
  readonly allowedDomains: readonly string[] | undefined
  readonly allowedPorts: readonly number[] | undefined
  readonly requiresHttps: boolean
  /** Whether this machine, and paths of this server, may be called. */
  readonly allowsLoopback: boolean
  readonly allowsPrivate: boolean
  readonly mostUrlChars: number
  /** Whether the project serves routes of its own, which a path can name. */
  readonly hasOwnRoutes: boolean
}

/**
 * The webhook of a run that is being created.
 * @returns undefined when there is none, or webhooks are turned off
 * @throws InvalidInput  when it can never be called
 */
export function acceptedWebhook(rules: UrlRules, url: string | null | undefined): string | undefined {
  if (url === null || url === undefined || rules.isDisabled) return undefined
  const message = webhookProblem(rules, url)
  if (message !== undefined) {
    throw new InvalidInput([{ path: ["body", "webhook"], message, type: "value_error" }], "webhook_refused")
  }
  return url
}

/** Why a webhook may not be called, as far as its text tells; undefined when it may. */
export function webhookProblem(rules: UrlRules, text: string): string | undefined {
  if (text.length > rules.mostUrlChars) return `expected at most ${rules.mostUrlChars} characters`
  // The parser would drop some of these, and who reads the text would see another address than is called.
  if (/[^\x21-\x7e]/.test(text)) return "expected an address without spaces, control characters and raw Unicode"
  if (text.startsWith("/")) return pathProblem(rules, text)
  if (!URL.canParse(text)) return "expected an address such as https://example.com/hook"
  const url = new URL(text)
  if (url.protocol !== "https:" && (url.protocol !== "http:" || rules.requiresHttps)) {
    return rules.requiresHttps ? "expected an https address" : "expected an http or https address"
  }
  return portProblem(rules, url) ?? hostProblem(rules, hostOf(url))
}

function pathProblem({ allowsLoopback, hasOwnRoutes }: UrlRules, text: string): string | undefined {
  if (/^\/[/\\]/.test(text)) return "expected an address with its scheme, such as https://example.com/hook"
  if (!allowsLoopback) return "paths of this server may not be called (webhooks.url.disable_loopback of langgraph.json)"
  return hasOwnRoutes ? undefined : "a path means a route of the project's own http.app, and it has none"
}

function portProblem({ allowedPorts }: UrlRules, url: URL): string | undefined {
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port)
  if (allowedPorts === undefined || allowedPorts.includes(port)) return undefined
  return `port ${port} may not be called (webhooks.url.allowed_ports of langgraph.json)`
}

/** A URL's host: an IP address without brackets, whatever form it was written in, or a name without a dot at its end. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")

function hostProblem(rules: UrlRules, host: string): string | undefined {
  if (rules.allowedDomains && !rules.allowedDomains.some((domain) => isBelow(host, domain))) {
    return `${host} may not be called (webhooks.url.allowed_domains of langgraph.json)`
  }
  if (isIP(host) !== 0) return addressProblem(rules, host)
  return /(^|\.)localhost$/.test(host) ? kindProblem(rules, "loopback", host) : undefined
}

/** `*.example.com` means every name below, and not `example.com` itself. */
const isBelow = (host: string, domain: string): boolean => {
  const wanted = domain.toLowerCase()
  return wanted.startsWith("*.") ? host.endsWith(wanted.slice(1)) : host === wanted
}

/** Why an IP address may not be connected to; undefined when it may. */
export const addressProblem = (rules: UrlRules, address: string): string | undefined =>
  kindProblem(rules, addressKind(address), address)

function kindProblem(rules: UrlRules, kind: AddressKind, name: string): string | undefined {
  if (kind === "never") return `${name} is no address that a webhook may go to`
  if (kind === "loopback" && !rules.allowsLoopback) {
    return `${name} is this machine, which may not be called (webhooks.url.disable_loopback of langgraph.json)`
  }
  if (kind === "private" && !rules.allowsPrivate) {
    return `${name} is in a private network, which may not be called unless SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS is set`
  }
  return undefined
}
