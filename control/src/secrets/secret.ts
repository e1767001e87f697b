/** What a secret is: an environment variable of the user's code, its mask, and the names that are ours. Pure. */
import type { Problem } from "@superstep/toolkit/errors/errors"

/** A secret as it is sent. */
export interface SecretValue {
  readonly name: string
  readonly value: string
}

/** What readers see instead of any value, always of this length; sent back, it keeps the stored value. */
export const secretMask = "********"

export const masked = (names: readonly string[]): SecretValue[] => names.map((name) => ({ name, value: secretMask }))

/**
 * Variables that the platform itself sets for an agent server. The CLIs filter these out of what they send, along
 * with many more that are free here (control-plane §2.2, CP-D18).
 */
const reservedNames: ReadonlySet<string> = new Set([
  "DATABASE_URI",
  "POSTGRES_URI",
  "REDIS_URI",
  "PORT",
  "MOUNT_PREFIX",
  "LANGSMITH_HOST_PROJECT_ID",
  "LANGSMITH_HOST_PROJECT_NAME",
  "LANGSMITH_HOST_REVISION_ID",
  "LANGSMITH_DEPLOYMENT_NAME",
])

export const isReserved = (name: string): boolean => reservedNames.has(name) || name.startsWith("SUPERSTEP_")

/** Names that are given more than once: which of the values is meant cannot be known. */
export function repeatedNames(secrets: readonly { readonly name: string }[]): Problem[] {
  const seen = new Set<string>()
  return secrets.flatMap(({ name }, index) => {
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    return [{ path: ["body", "secrets", index, "name"], message: `${name} is given twice`, type: "value_error" }]
  })
}
