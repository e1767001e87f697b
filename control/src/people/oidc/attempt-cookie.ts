/**
 * A sign-in that has begun, in a cookie of the browser that began it: no table, and no other browser can end it. The cookie is sealed, since
 * it contains what proves the sign-in to the provider.
 */
import { CannotOpen, type MasterKey, open, seal } from "../../secrets/seal.js"
import type { Attempt } from "./provider.js"

export interface BegunSignIn extends Attempt {
  readonly invitation?: string | undefined
  readonly next?: string | undefined
}

const name = "superstep_oidc"
const minutes = 10
const path = "/v2/console/oidc"
const context = ["oidc-sign-in"]

// Browsers refuse a cookie whose name and value are longer than this.
const mostOfCookie = 4096

/** `Lax`: the browser returns from the provider's site. A page to show afterwards that does not fit is left out. @param isSecure  the page is served by https */
export function attemptCookie(
  key: MasterKey,
  begun: BegunSignIn,
  { now, isSecure }: { now: Date; isSecure: boolean },
): string {
  const pairOf = (it: BegunSignIn) =>
    `${name}=${seal(key, JSON.stringify({ begun: it, until: now.getTime() + minutes * 60_000 }), context)}`
  const whole = pairOf(begun)
  const pair = whole.length <= mostOfCookie ? whole : pairOf({ ...begun, next: undefined })
  return `${pair}; ${attributes(isSecure)}; Max-Age=${minutes * 60}`
}

export const clearedAttempt = (isSecure: boolean): string => `${name}=; ${attributes(isSecure)}; Max-Age=0`

const attributes = (isSecure: boolean) => `Path=${path}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`

/** @returns  undefined when there is none, it is not ours, or it is too old */
export function attemptIn(key: MasterKey, cookieHeader: string | undefined, now: Date): BegunSignIn | undefined {
  const values = (cookieHeader ?? "").split(";").flatMap((pair) => {
    const [given = "", value = ""] = pair.trim().split("=", 2)
    return given === name ? [value] : []
  })
  const [value] = values
  if (value === undefined || values.length > 1) return undefined
  try {
    const { begun, until } = JSON.parse(open(key, value, context)) as { begun: BegunSignIn; until: number }
    return now.getTime() < until ? begun : undefined
  } catch (error) {
    if (error instanceof CannotOpen) return undefined
    throw error
  }
}
