/** Settings of webhooks for tests, whose receivers are on this machine. */
import type { WebhookSettings } from "../settings.js"

export const testWebhooks: WebhookSettings = {
  isDisabled: false,
  allowedDomains: undefined,
  allowedPorts: undefined,
  requiresHttps: false,
  allowsLoopback: true,
  allowsPrivate: false,
  mostUrlChars: 65_536,
  hasOwnRoutes: false,
  headers: {},
  signingSecret: undefined,
}
