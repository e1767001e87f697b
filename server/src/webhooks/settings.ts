/** What langgraph.json and the environment say about webhooks, put together. Pure. */
import { validateHeaderName, validateHeaderValue } from "node:http"
import { Secret } from "@superstep/toolkit/config/settings"
import { InvalidInput, type Problem } from "@superstep/toolkit/errors/errors"
import type { LanggraphJson } from "../project/langgraph-json.js"
import type { UrlRules } from "./url-rules.js"

export interface WebhookSettings extends UrlRules {
  /** Sent with each call; their values may be secret. */
  readonly headers: Readonly<Record<string, Secret>>
  /** Undefined: calls are not signed. */
  readonly signingSecret: Secret | undefined
}

export interface WebhookSources {
  readonly webhooks: NonNullable<LanggraphJson["webhooks"]>
  readonly http: NonNullable<LanggraphJson["http"]>
  /** Where headers' variables are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isDev: boolean
  readonly privateNetworks: boolean
  readonly signingSecret: Secret | undefined
}

const usualPrefix = "LG_WEBHOOK_"

// What the API takes for a webhook at all (agent-server-api §6.1).
const mostUrlChars = 65_536

/** @throws InvalidInput  a header names a variable that is not there or may not be named, or cannot be sent */
export function webhookSettings(sources: WebhookSources): WebhookSettings {
  const { webhooks, http, isDev } = sources
  const { url = {} } = webhooks
  return {
    isDisabled: http.disable_webhooks ?? false,
    allowedDomains: url.allowed_domains?.length ? url.allowed_domains : undefined,
    allowedPorts: url.allowed_ports?.length ? url.allowed_ports : undefined,
    requiresHttps: url.require_https ?? false,
    // In development what is called runs on the same machine, or on the next one.
    allowsLoopback: !(url.disable_loopback ?? !isDev),
    allowsPrivate: sources.privateNetworks || isDev,
    mostUrlChars: url.max_url_length ?? mostUrlChars,
    hasOwnRoutes: http.app !== undefined,
    headers: headersOf(sources),
    signingSecret: sources.signingSecret,
  }
}

const template = /\$\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}/g

function headersOf({ webhooks, env }: WebhookSources): Record<string, Secret> {
  const prefix = webhooks.env_prefix ?? usualPrefix
  const problems: Problem[] = []
  const headers = Object.entries(webhooks.headers ?? {}).map(([name, text]) => {
    const tell = (message: string) => {
      problems.push({ path: ["langgraph.json", "webhooks", "headers", name], message, type: "value_error" })
    }
    const value = text.replaceAll(template, (_, variable: string) => {
      if (!variable.startsWith(prefix)) tell(`${variable} may not be named: it does not begin with ${prefix}`)
      else if (env[variable] === undefined) tell(`the variable ${variable} is not set`)
      else return env[variable]
      return ""
    })
    if (value.includes("${{")) tell("expected variables as {{ env.NAME }} after a dollar, and no other template")
    if (!canBeSent(name, value)) tell("this cannot be the name or the value of a header")
    return [name.toLowerCase(), new Secret(value)] as const
  })
  if (problems.length > 0) throw new InvalidInput(problems, "invalid_config")
  return Object.fromEntries(headers)
}

function canBeSent(name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    // A TypeError is the answer.
    return false
  }
}
