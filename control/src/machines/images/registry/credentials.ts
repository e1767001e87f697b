/** How a registry wants to know who asks. @see https://distribution.github.io/distribution/spec/auth/token/ */
import { Secret } from "@superstep/toolkit/config/settings"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { RegistryFailed, unanswered } from "./failures.js"

export interface Credentials {
  readonly user: string
  readonly password: Secret
}

export interface Challenge {
  readonly scheme: "basic" | "bearer"
  readonly parameters: Readonly<Record<string, string>>
}

/** The value of `WWW-Authenticate`. Pure. @returns  undefined for a scheme that registries do not use */
export function parseChallenge(header: string): Challenge | undefined {
  const [, name = "", rest = ""] = /^\s*(\w+)\s*(.*)$/.exec(header) ?? []
  const scheme = name.toLowerCase()
  if (scheme !== "basic" && scheme !== "bearer") return undefined
  const found = [...rest.matchAll(/(\w+)=(?:"([^"]*)"|([^\s,]+))/g)]
  return {
    scheme,
    parameters: Object.fromEntries(found.map(([, key = "", quoted, bare]) => [key, quoted ?? bare ?? ""])),
  }
}

export const basicHeader = ({ user, password }: Credentials): Secret =>
  new Secret(`Basic ${Buffer.from(`${user}:${password.reveal()}`).toString("base64")}`)

/**
 * Gets a token from the server that a registry names.
 * @throws Unauthenticated  it refuses these credentials
 * @throws RegistryFailed   it does not answer, has a certificate that is refused, or fails
 */
export async function tokenHeader(challenge: Challenge, credentials: Credentials | undefined): Promise<Secret> {
  const { realm = "", service, scope } = challenge.parameters
  const url = new URL(realm)
  if (service !== undefined) url.searchParams.set("service", service)
  for (const one of scope?.split(" ") ?? []) url.searchParams.append("scope", one)
  const headers = credentials ? { authorization: basicHeader(credentials).reveal() } : undefined
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000), ...(headers && { headers }) }).catch(
    (cause: unknown) => {
      throw unanswered(url.host, cause)
    },
  )
  const { status } = response
  const reason = `${url.host} gives no token for the registry (${status})`
  if (status >= 400 && status < 500 && status !== 429) throw new Unauthenticated(`${reason}: check user and password`)
  if (!response.ok) throw new RegistryFailed(reason, status)
  const { token, access_token } = (await response.json()) as { token?: string; access_token?: string }
  return new Secret(`Bearer ${token ?? access_token ?? ""}`)
}
