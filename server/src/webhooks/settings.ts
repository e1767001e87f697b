/** Combines the webhook settings of langgraph.json and of the environment. Pure. */
import { validateHeaderName, validateHeaderValue } from "node:http"
import { Secret } from "@superstep/toolkit/config/settings"
import { InvalidInput, type Problem } from "@superstep/toolkit/errors/errors"
import type { LanggraphJson } from "../project/langgraph-json.js"
import type { UrlRules } from "./url-rules.js"

export interface WebhookSettings extends UrlRules {
  /** Sent with each call; values may be secret. */
  readonly headers: Readonly<Record<string, Secret>>
  /** Undefined: calls are not signed. */
  readonly signingSecret: Secret | undefined
}

export interface WebhookSources {
  readonly webhooks: NonNullable<LanggraphJson["webhooks"]>
  readonly http: NonNullable<LanggraphJson["http"]>
  /** The variables that headers may insert. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isDev: boolean
  readonly privateNetworks: boolean
  readonly signingSecret: Secret | undefined
}

const defaultPrefix = "LG_WEBHOOK_"

// The API's limit for a run's webhook URL (agent-server-api §6.1).
const maxUrlChars = 65_536

/** @throws InvalidInput  a header uses a variable that is not set or not allowed, or is not a valid header */
export function webhookSettings(sources: WebhookSources): WebhookSettings {
  const { webhooks, http, isDev } = sources
  const { url = {} } = webhooks
  return {
    isDisabled: http.disable_webhooks ?? false,
    allowedDomains: url.allowed_domains?.length ? url.allowed_domains : undefined,
    allowedPorts: url.allowed_ports?.length ? url.allowed_ports : undefined,
    requiresHttps: url.require_https ?? false,
    // In development receivers run on the same machine or in the same network.
    allowsLoopback: !(url.disable_loopback ?? !isDev),
    allowsPrivate: sources.privateNetworks || isDev,
    maxUrlChars: url.max_url_length ?? maxUrlChars,
    hasOwnRoutes: http.app !== undefined,
    headers: headersOf(sources),
    signingSecret: sources.signingSecret,
  }
}

const template = /\$\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}/g

function headersOf({ webhooks, env }: WebhookSources): Record<string, Secret> {
  const prefix = webhooks.env_prefix ?? defaultPrefix
  const problems: Problem[] = []
  const headers = Object.entries(webhooks.headers ?? {}).map(([name, text]) => {
    const report = (message: string) => {
      problems.push({ path: ["langgraph.json", "webhooks", "headers", name], message, type: "value_error" })
    }
    const value = text.replaceAll(template, (_, variable: string) => {
      if (!variable.startsWith(prefix)) report(`${variable} is not allowed: its name must start with ${prefix}`)
      else if (env[variable] === undefined) report(`the variable ${variable} is not set`)
      else return env[variable]
      return ""
    })
    if (value.includes("${{")) report("expected only templates of the form {{ env.NAME }} after a dollar sign")
    if (!canBeSent(name, value)) report("the name or the value is not valid in an HTTP header")
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
    // A TypeError means that the header is invalid.
    return false
  }
}
