/** Which URLs webhooks may call: the rules of `webhooks.url` in langgraph.json, and addresses that are always forbidden (W4). Pure. */
import { isIP } from "node:net"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { type AddressKind, addressKind } from "@superstep/toolkit/webhooks/addresses"

export interface UrlRules {
  /** `http.disable_webhooks`: the webhooks of runs are ignored. */
  readonly isDisabled: boolean
  /** Hosts, or `*.example.com` for all subdomains; undefined: every host. */
  readonly allowedDomains: readonly string[] | undefined
  readonly allowedPorts: readonly number[] | undefined
  readonly requiresHttps: boolean
  /** Whether loopback addresses and paths of this server are allowed. */
  readonly allowsLoopback: boolean
  readonly allowsPrivate: boolean
  readonly maxUrlChars: number
  /** Whether the project has an `http.app`, whose routes a path can name. */
  readonly hasOwnRoutes: boolean
}

/**
 * Validates the webhook of a new run.
 * @returns undefined when there is none, or webhooks are disabled
 * @throws InvalidInput  when the URL is not allowed
 */
export function acceptedWebhook(rules: UrlRules, url: string | null | undefined): string | undefined {
  if (url === null || url === undefined || rules.isDisabled) return undefined
  const message = webhookProblem(rules, url)
  if (message !== undefined) {
    throw new InvalidInput([{ path: ["body", "webhook"], message, type: "value_error" }], "webhook_refused")
  }
  return url
}

/** Why a webhook URL is not allowed, judged by its text alone; undefined if it is allowed. */
export function webhookProblem(rules: UrlRules, text: string): string | undefined {
  if (text.length > rules.maxUrlChars) return `expected at most ${rules.maxUrlChars} characters`
  // The URL parser drops some of these characters, so the called address would differ from the visible text.
  if (/[^\x21-\x7e]/.test(text)) return "expected a URL without spaces, control characters and raw Unicode"
  if (text.startsWith("/")) return pathProblem(rules, text)
  if (!URL.canParse(text)) return "expected a URL such as https://example.com/hook"
  const url = new URL(text)
  if (url.protocol !== "https:" && (url.protocol !== "http:" || rules.requiresHttps)) {
    return rules.requiresHttps ? "expected an https URL" : "expected an http or https URL"
  }
  return portProblem(rules, url) ?? hostProblem(rules, hostOf(url))
}

function pathProblem({ allowsLoopback, hasOwnRoutes }: UrlRules, text: string): string | undefined {
  if (/^\/[/\\]/.test(text)) return "expected a URL with its scheme, such as https://example.com/hook"
  if (!allowsLoopback) return "paths of this server are not allowed (webhooks.url.disable_loopback of langgraph.json)"
  return hasOwnRoutes ? undefined : "a path requires an http.app in langgraph.json, and this project has none"
}

function portProblem({ allowedPorts }: UrlRules, url: URL): string | undefined {
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port)
  if (allowedPorts === undefined || allowedPorts.includes(port)) return undefined
  return `port ${port} is not allowed (webhooks.url.allowed_ports of langgraph.json)`
}

/** The host of a URL: a normalized IP address without brackets, or a name without a trailing dot. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")

function hostProblem(rules: UrlRules, host: string): string | undefined {
  if (rules.allowedDomains && !rules.allowedDomains.some((domain) => isBelow(host, domain))) {
    return `${host} is not allowed (webhooks.url.allowed_domains of langgraph.json)`
  }
  if (isIP(host) !== 0) return addressProblem(rules, host)
  return /(^|\.)localhost$/.test(host) ? kindProblem(rules, "loopback", host) : undefined
}

/** `*.example.com` matches every subdomain, but not `example.com` itself. */
const isBelow = (host: string, domain: string): boolean => {
  const wanted = domain.toLowerCase()
  return wanted.startsWith("*.") ? host.endsWith(wanted.slice(1)) : host === wanted
}

/** Why an IP address is not allowed; undefined if it is allowed. */
export const addressProblem = (rules: UrlRules, address: string): string | undefined =>
  kindProblem(rules, addressKind(address), address)

function kindProblem(rules: UrlRules, kind: AddressKind, name: string): string | undefined {
  if (kind === "never") return `${name} is an address that webhooks must never call`
  if (kind === "loopback" && !rules.allowsLoopback) {
    return `${name} is a loopback address, which is not allowed (webhooks.url.disable_loopback of langgraph.json)`
  }
  if (kind === "private" && !rules.allowsPrivate) {
    return `${name} is in a private network, which is allowed only with SUPERSTEP_WEBHOOK_PRIVATE_NETWORKS=1`
  }
  return undefined
}
