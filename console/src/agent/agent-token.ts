/** Short-lived tokens for one deployment's agent. The page never has the user's key. */

import type { PlatformApi } from "../platform/api.js"
import { jsonOf } from "../requests/api-error.js"
import { requestPath } from "../requests/request-path.js"

export interface AgentToken {
  readonly token: string
  /** The agent's public address. */
  readonly url: string
  readonly scopes: readonly string[]
  /** When it ends, in milliseconds by this browser's clock. */
  readonly endsAt: number
}

interface TokenReply extends Omit<AgentToken, "endsAt"> {
  readonly expires_at: string
}

/** A token is renewed this long before it ends, so that no request is sent with one that ends on the way. */
export const renewBeforeMs = 60_000

export async function readAgentToken(api: PlatformApi, deploymentId: string): Promise<AgentToken> {
  const reply = await api(requestPath`/v2/deployments/${deploymentId}/agent-token`, { method: "POST" })
  const { expires_at, ...token } = (await jsonOf(reply)) as TokenReply
  return { ...token, endsAt: endOf(expires_at, reply.headers.get("date"), Date.now()) }
}

/**
 * The clock of this computer may be wrong, so only the time between two readings of the server's clock counts.
 * @param date  the reply's header `date`
 * @param now   when the reply arrived, by this browser's clock
 */
export function endOf(expiresAt: string, date: string | null, now: number): number {
  const serverNow = Date.parse(date ?? "")
  return Date.parse(expiresAt) + (Number.isNaN(serverNow) ? 0 : now - serverNow)
}

export const isDue = ({ endsAt }: AgentToken, now: number): boolean => endsAt - now < renewBeforeMs

interface KeepOptions {
  /** A person has got another role since the first token. */
  readonly onOtherScopes?: ((token: AgentToken) => void) | undefined
  readonly now?: () => number
}

/**
 * Keeps one token at a time and renews it when it is due. Requests that come together share one renewal; a failed renewal
 * is not kept, so the next request tries again.
 */
export function keepToken(
  first: AgentToken,
  read: () => Promise<AgentToken>,
  { onOtherScopes, now = Date.now }: KeepOptions = {},
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
      void current.then(
        (token) => String(token.scopes) !== String(first.scopes) && onOtherScopes?.(token),
        () => {},
      )
    }
    return current
  }
}
