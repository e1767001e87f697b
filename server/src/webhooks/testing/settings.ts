/** Webhook settings for tests, whose receivers are on loopback. */
import type { WebhookSettings } from "../settings.js"

export const testWebhooks: WebhookSettings = {
  isDisabled: false,
  allowedDomains: undefined,
  allowedPorts: undefined,
  requiresHttps: false,
  allowsLoopback: true,
  allowsPrivate: false,
  maxUrlChars: 65_536,
  hasOwnRoutes: false,
  headers: {},
  signingSecret: undefined,
}
