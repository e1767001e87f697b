/** How a registry wants to know who asks. @see https://distribution.github.io/distribution/spec/auth/token/ */
import { Secret } from "@superstep/toolkit/config/settings"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { documentOf } from "./document.js"
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
  const [, name = "", rest = ""] = /^\s*(\w+)\b\s*(.*)$/s.exec(header) ?? []
  const scheme = name.toLowerCase()
  if (scheme !== "basic" && scheme !== "bearer") return undefined
  const found = [...rest.matchAll(/(?<!\w)(\w+)=(?:"([^"]*)"|([^\s,]+))/g)]
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
  const unusable = (words: string, status?: number) =>
    new RegistryFailed(`${url.host} ${words}: check the registry's token server, or try again later`, status)
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000), ...(headers && { headers }) }).catch(
    (cause: unknown) => {
      throw unanswered(url.host, cause)
    },
  )
  const { status } = response
  if (status === 401 || status === 403)
    throw new Unauthenticated(`${url.host} gives no token for the registry (${status}): check user and password`)
  if (!response.ok) throw unusable(`gives no token for the registry (${status})`, status)
  const reply = await documentOf(response).catch((cause: unknown) => {
    throw cause instanceof RegistryFailed ? cause : unanswered(url.host, cause)
  })
  const token = tokenIn(reply.toString())
  if (token === undefined) throw unusable("answers without a token")
  return new Secret(`Bearer ${token}`)
}

function tokenIn(reply: string): string | undefined {
  try {
    const { token, access_token } = JSON.parse(reply) as { token?: string; access_token?: string }
    return token ?? access_token
  } catch {
    return undefined
  }
}
