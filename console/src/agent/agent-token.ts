/** Short-lived tokens for one deployment's agent. The page never has the user's key. */
import { requestPath } from "../frame/request-path.js"
import type { PlatformApi } from "../platform/api.js"
import { callPlatform } from "../platform/api.js"

export interface AgentToken {
  readonly token: string
  /** The agent's public address. */
  readonly url: string
  readonly scopes: readonly string[]
  readonly expires_at: string
}

/** A token is renewed this long before it ends, so that no request is sent with one that ends on the way. */
export const renewBeforeMs = 60_000

export const readAgentToken = (api: PlatformApi, deploymentId: string): Promise<AgentToken> =>
  callPlatform(api, requestPath`/v2/deployments/${deploymentId}/agent-token`, { method: "POST" })

export const isDue = ({ expires_at }: AgentToken, now: number): boolean => Date.parse(expires_at) - now < renewBeforeMs

/**
 * Keeps one token at a time and renews it when it is due. Requests that come together share one renewal; a failed renewal
 * is not kept, so the next request tries again.
 */
export function keepToken(
  first: AgentToken,
  read: () => Promise<AgentToken>,
  now = Date.now,
): () => Promise<AgentToken> {
  let current = Promise.resolve(first)
  let isRenewing = false
  return async () => {
    const token = await current.catch(() => first)
    if (!isDue(token, now())) return token
    if (!isRenewing) {
      isRenewing = true
      current = read().finally(() => {
        isRenewing = false
      })
    }
    return current
  }
}
